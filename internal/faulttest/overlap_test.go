package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
)

// The sets of these tests overlap: up to 4 of 5 names, in any order.
const (
	overlapNames = 5
	overlapWork  = 2 * time.Millisecond
)

// drawSet returns different names, in any order.
func drawSet(random *rand.Rand) []string {
	var names []string
	for _, i := range random.Perm(overlapNames)[:1+random.IntN(4)] {
		names = append(names, fmt.Sprint("n", i))
	}
	return names
}

// servedWithin is the bound of docs/PROTOCOL.md ("Several names"): so many others, each of which
// keeps what it has got for at most hold.
func servedWithin(others, names int, hold time.Duration) time.Duration {
	bound := acquire.JointTries * hold
	for range names {
		bound *= time.Duration(others + 1)
	}
	return bound
}

// overlapping is what the clients of one of these tests have and had.
type overlapping struct {
	t       *testing.T
	mu      sync.Mutex
	holder  map[string]int         // by name
	token   map[string]fence.Token // the highest seen
	granted map[string]int         // by name, ever
	line    []map[string]int       // by client and name: granted when it was first told to wait
	turns   int                    // the most that others had while one was in line for a name
	longest time.Duration
}

// observer follows a client through the lines.
func (o *overlapping) observer(client int) redlock.Observer {
	return redlock.Observer{
		AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if _, in := o.line[client][a.Name]; !in {
				o.line[client][a.Name] = o.granted[a.Name]
			}
		},
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			name := a.Name
			o.mu.Lock()
			defer o.mu.Unlock()
			if since, in := o.line[client][name]; in {
				o.turns = max(o.turns, o.granted[name]-since)
				delete(o.line[client], name)
			}
			o.granted[name]++
		},
	}
}

// hold checks that the client has its names alone, with newer tokens than before.
func (o *overlapping) hold(client int, locks *redlock.Locks, waited time.Duration) {
	o.mu.Lock()
	o.longest = max(o.longest, waited)
	for _, name := range locks.Names() {
		if other, held := o.holder[name]; held {
			o.t.Errorf("%s is held by %d and %d", name, other, client)
		}
		if locks.Token(name) <= o.token[name] {
			o.t.Errorf("token %v of %s after %v", locks.Token(name), name, o.token[name])
		}
		o.holder[name], o.token[name] = client, locks.Token(name)
	}
	o.mu.Unlock()
	time.Sleep(overlapWork)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range locks.Names() {
		delete(o.holder, name)
	}
	clear(o.line[client])
}

// Sets that overlap exclude each other, and each is served within the bound, in turns and in time:
// 8 clients, 1000 sets.
func TestOverlappingSetsAreServed(t *testing.T) {
	t.Parallel()
	const clients = 8
	sets := 1000 / clients
	if testing.Short() {
		sets /= 4
	}
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		o := &overlapping{t: t, holder: map[string]int{}, token: map[string]fence.Token{}, granted: map[string]int{}}
		var all []*redlock.Client
		for i := range clients {
			o.line = append(o.line, map[string]int{})
			all = append(all, d.Reached(redlock.WithObserver(o.observer(i))))
		}
		bound := servedWithin(clients-1, overlapNames, overlapWork+time.Millisecond)
		seed := rand.Uint64()
		var done sync.WaitGroup
		for i, c := range all {
			done.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for range sets {
					began := time.Now()
					locks, err := c.LockAll(context.Background(), drawSet(random), redlock.WithWait(bound))
					if err != nil {
						t.Errorf("seed %d, client %d: %v", seed, i, err)
						return
					}
					o.hold(i, locks, time.Since(began))
					harness.Check(t, locks.Unlock(context.Background()))
				}
			})
		}
		done.Wait()
		if usual := time.Duration(clients*acquire.JointTries*overlapNames) * (overlapWork + time.Millisecond); o.longest > usual {
			t.Errorf("the longest wait was %v, which is far from usual: seed %d", o.longest, seed)
		}
		t.Logf("the longest wait was %v, of %v; the most turns of others in line for a name %d", o.longest, bound, o.turns)
		if most := (clients - 1) * acquire.JointTries; o.turns > most {
			t.Errorf("others had a name %d times while one was in line for it, above %d: seed %d", o.turns, most, seed)
		}
	})
}
