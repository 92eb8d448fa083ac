package redlock

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/limits"
)

// tappedMaster is a master whose clients' subscriptions can be broken, and nothing
// else.
type tappedMaster struct {
	testMaster
	mu   sync.Mutex
	subs []net.Conn
}

type tappedConn struct {
	net.Conn
	master *tappedMaster
}

func (c tappedConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nsubscribe\r\n")) {
		c.master.mu.Lock()
		c.master.subs = append(c.master.subs, c.Conn)
		c.master.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (m *tappedMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return tappedConn{conn, m} })
}

func (m *tappedMaster) breakSubscriptions() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.subs {
		_ = conn.Close()
	}
	m.subs = nil
}

// tapped makes the masters of d such that what gives d.client from now on can be
// broken, by the function that it returns.
func tapped(d *deployment) (breakSubscriptions func()) {
	var all []*tappedMaster
	for i := range d.masters {
		m := &tappedMaster{testMaster: d.masters[i]}
		d.masters[i] = m
		all = append(all, m)
	}
	return func() {
		for _, m := range all {
			m.breakSubscriptions()
		}
	}
}

// A waiter sleeps until it is called, for up to 20 s. A release at which its
// subscriptions were broken must not cost it that.
func TestACallThatIsLostIsMadeUpFor(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		a := d.reached()
		breakSubscriptions := tapped(d)
		b := d.reached()
		for range 3 {
			held := mustTry(t, a, "job")
			settled(t, a)
			got := goLock(t, b, "job")
			time.Sleep(maxAskInterval)
			start := time.Now()
			breakSubscriptions()
			must(t, held.Unlock(background))
			must(t, have(t, got).Unlock(background))
			settled(t, b)
			if took := time.Since(start); took > standByPause+20*time.Millisecond { // some masters may keep it for the subscription that broke
				t.Errorf("it had the lock %v after the release", took)
			}
		}
	})
}

// When subscriptions break, each waiter asks again soon, but not all at once.
func TestWaitersAskOneAfterTheOtherWhenSubscriptionsBreak(t *testing.T) {
	t.Parallel()
	const names = 200
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a := d.reached()
		breakSubscriptions := tapped(d)
		var mu sync.Mutex
		var since time.Time
		asked := map[string][]time.Duration{}
		b := d.reached(WithObserver(Observer{AttemptFailed: func(_ context.Context, a FailedAttempt) {
			mu.Lock()
			defer mu.Unlock()
			asked[a.Name] = append(asked[a.Name], time.Since(since))
		}}))
		ctx, giveUp := context.WithCancel(background)
		var all sync.WaitGroup
		for i := range names {
			mustTry(t, a, strconv.Itoa(i))
		}
		settled(t, a) // all are held on all masters
		for i := range names {
			all.Go(func() { _, _ = b.Lock(ctx, strconv.Itoa(i)) })
		}
		time.Sleep(maxAskInterval)
		mu.Lock()
		since = time.Now()
		clear(asked)
		mu.Unlock()
		breakSubscriptions()
		time.Sleep(time.Second)
		mu.Lock()
		var first []time.Duration
		for name, at := range asked {
			if first = append(first, at[0]); len(at) > 3 {
				t.Errorf("for %s it asked %d times", name, len(at))
			}
		}
		mu.Unlock()
		if len(first) != names {
			t.Errorf("it asked for %d names of %d", len(first), names)
		}
		const share = names * spreadEach / 10
		slices.Sort(first)
		for i, at := range first {
			if n := i + 1 - slices.IndexFunc(first, func(t time.Duration) bool { return t > at-share }); n > names/4 {
				t.Errorf("it asked for %d names within %v, and for all %d within %v", n, share, names, first[len(first)-1])
				break
			}
		}
		giveUp()
		all.Wait()
	})
}

// The lock of a holder that died is had at the end of its lease, though nobody is
// called and a waiter asks seldom.
func TestADeadHoldersLockIsHadAtTheEndOfItsLease(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		for _, ttl := range []time.Duration{8 * time.Second, limits.DefaultTTL, limits.DefaultMaxTTL} {
			start := time.Now()
			mustTry(t, a, "job", WithTTL(ttl), WithoutWatchdog())
			settled(t, a) // it holds the lock on all masters
			must(t, have(t, goLock(t, b, "job")).Unlock(background))
			settled(t, b)
			if late := time.Since(start) - ttl; late < 0 || late > 5*time.Millisecond {
				t.Errorf("ttl %v: had %v after its end", ttl, late)
			}
		}
	})
}

// Those who miss nothing ask in the last quarter of their interval, and many at once.
func TestCoveredPause(t *testing.T) {
	t.Parallel()
	const now = clock.Instant(12345678987654321)
	for _, random := range []float64{0, .1, .5, .999999} {
		pause := coveredPause(now, random)
		if pause <= (coveredInterval-askTogether)*3/4 || pause > coveredInterval || time.Duration(now.Add(pause))%askTogether != 0 {
			t.Errorf("random %v: pauses for %v, until %v", random, pause, now.Add(pause))
		}
	}
}
