package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// acquisition is a completed one, on one clock.
type acquisition struct {
	token        fence.Token
	began, ended time.Time
}

// checkTokens returns an error unless all tokens are unique and every acquisition that began after
// another was complete has the larger token.
func checkTokens(all []acquisition) error {
	byEnd := slices.Clone(all)
	slices.SortFunc(byEnd, func(a, b acquisition) int { return a.ended.Compare(b.ended) })
	slices.SortFunc(all, func(a, b acquisition) int { return a.began.Compare(b.began) })
	seen := map[fence.Token]bool{}
	floor, i := fence.Token(0), 0
	for _, a := range all {
		for ; i < len(byEnd) && byEnd[i].ended.Before(a.began); i++ {
			floor = max(floor, byEnd[i].token)
		}
		if a.token <= floor {
			return fmt.Errorf("token %d, but %d was complete before it began", a.token, floor)
		}
		if seen[a.token] {
			return fmt.Errorf("token %d twice", a.token)
		}
		seen[a.token] = true
	}
	return nil
}

// Tokens on real masters: counters skewed at random, concurrent clients, locks that vanish (as by
// expiry or a clock jump), requests delivered twice. Mutual exclusion is lost on purpose; the
// tokens must hold.
func TestTokensOfConcurrentClientsGrow(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 5)
	const workers = 6
	var clients []*redlock.Client
	for range workers {
		clients = append(clients, harness.FaultClient(d))
	}
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for _, r := range d.Raw {
		harness.Must(t, r.IncrBy(context.Background(), k.Fence, rand.Int64N(1000)).Err())
	}
	for _, p := range proxies {
		for nth := 10; nth < 300; nth += 10 {
			p.Add(harness.On(script.Acquire, nth, faultproxy.DuplicateRequest))
			p.Add(harness.On(script.Acquire, nth+5, faultproxy.CutAfterRequest))
		}
	}
	const few, many = 30, 200 // acquisitions; a slow machine gets to few of them
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 2*harness.Patience)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { // the adversary
		for ctx.Err() == nil {
			for _, r := range d.Raw {
				if rand.IntN(3) > 0 {
					r.Del(context.Background(), k.Lock)
				}
			}
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		}
	})
	var mu sync.Mutex
	var history []acquisition
	overlaps, holders := 0, 0
	for _, c := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				lock, err := c.TryLock(context.Background(), "job", redlock.WithoutWatchdog())
				if err != nil {
					time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
					continue
				}
				ended := time.Now()
				mu.Lock()
				history = append(history, acquisition{lock.Token(), began, ended})
				if holders++; holders > 1 {
					overlaps++
				}
				if n := len(history); n >= many && overlaps >= 10 || n >= few && overlaps > 0 && time.Since(start) > 20*time.Second {
					cancel()
				}
				mu.Unlock()
				time.Sleep(ended.Sub(began)) // long enough for a rival to get it, on a busy machine too
				mu.Lock()
				holders--
				mu.Unlock()
				_ = lock.Unlock(context.Background()) // lost, more often than not
			}
		})
	}
	all.Wait()
	if err := checkTokens(history); err != nil {
		t.Error(err)
	}
	if len(history) < few || overlaps == 0 {
		t.Errorf("%d acquisitions, %d overlaps: nothing was put to the test", len(history), overlaps)
	}
	t.Logf("%d acquisitions, %d overlaps provoked", len(history), overlaps)
}

func TestCheckTokensFindsWhatIsWrong(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	good := []acquisition{{5, at(0), at(10)}, {7, at(11), at(20)}, {6, at(5), at(15)}, {9, at(21), at(22)}}
	harness.Must(t, checkTokens(slices.Clone(good)))
	for name, bad := range map[string]acquisition{
		"going back":        {8, at(23), at(24)},
		"twice":             {9, at(21), at(25)},
		"equal to the last": {9, at(30), at(31)},
	} {
		if checkTokens(append(slices.Clone(good), bad)) == nil {
			t.Errorf("%s was not found", name)
		}
	}
}
