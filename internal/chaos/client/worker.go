package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

const (
	// haste is the longest that most waiters wait; the others have config.patience,
	// before which they must get the lock.
	haste = 2 * time.Second

	// gap is the most that passes between the look at the lock and a write: what
	// stops the process in it makes the write a stale one.
	gap = 30 * time.Millisecond

	// idle is the most that passes between two holds of a worker.
	idle = 60 * time.Millisecond

	// storeTimeout is long: a store is under no faults, and what is unknown is hard
	// to check.
	storeTimeout = 5 * time.Second

	// probeGap is between the two tries of a probe: longer than the checks give a
	// release to arrive (check.Bounds.GiveBack), shorter than a lease.
	probeGap = 500 * time.Millisecond

	// deepest is how often a hold is entered at most.
	deepest = 3
)

// worker takes one lock after the other. It has a goroutine of its own.
type worker struct {
	config
	private string // the name of a lock that only this worker uses
	client  *redlock.Client
	stores  []store
	calls   *recorder
	holds   *holds
	chance  *rand.Rand
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		name := w.names[w.chance.IntN(len(w.names))]
		if w.oneIn(3) {
			w.read(pick(w, w.stores), name, 0)
		}
		if e, ok := w.acquire(ctx, name, 1); ok {
			w.hold(e)
		}
		if w.oneIn(4) {
			w.probe(ctx)
		}
		w.sleep(ctx, w.upTo(idle))
	}
}

// probe takes a lock that only this worker uses, for as long as a lease may last,
// and gives it back; then it tries again. What the first try left behind is in the
// way of the second.
func (w *worker) probe(ctx context.Context) {
	for i := range 2 {
		if i > 0 {
			w.sleep(ctx, probeGap)
		}
		if e, ok := w.lock(ctx, w.private, 1, false, redlock.WithTTL(w.maxTTL), redlock.WithoutWatchdog()); ok {
			w.leave([]entry{e})
		}
	}
}

// acquire takes the lock, or enters it once more if ctx is a hold's.
func (w *worker) acquire(ctx context.Context, name string, depth int) (entry, bool) {
	waits := w.oneIn(2)
	options := []redlock.LockOption{redlock.WithWait(w.upTo(haste) + time.Millisecond)}
	if w.oneIn(4) {
		options[0] = redlock.WithWait(w.patience)
	}
	if w.oneIn(2) {
		options = append(options, redlock.WithoutWatchdog())
	}
	return w.lock(ctx, name, depth, waits, options...)
}

func (w *worker) lock(ctx context.Context, name string, depth int, waits bool, options ...redlock.LockOption) (entry, bool) {
	lockBy := w.client.TryLock
	if waits {
		lockBy = w.client.Lock
	}
	c := w.calls.call(history.Event{Name: name})
	c.log(history.Event{Kind: history.LockBegins, Waits: waits, Depth: depth})
	lock, err := lockBy(ctx, name, options...)
	if err != nil {
		c.log(history.Event{Kind: history.LockFailed, Err: lockClass(err)})
		return entry{}, false
	}
	c.known.Token = uint64(lock.Token())
	c.log(history.Event{Kind: history.LockHeld, Depth: depth, Until: endOf(lock, w.calls.out.Clock())})
	return entry{c, lock}, true
}

// hold works under the lock, for longer or shorter than the lease, and leaves it.
func (w *worker) hold(first entry) {
	w.holds.begin(first)
	defer w.holds.end(first)
	entries := []entry{first}
	over, leave := context.WithTimeout(first.lock.Context(), w.upTo(2*w.ttl))
	defer leave()
	for over.Err() == nil {
		w.sleep(over, w.upTo(gap))
		w.work(entries[0].lock)
		switch {
		case w.oneIn(8) && len(entries) < deepest:
			if again, ok := w.acquire(first.lock.Context(), first.lock.Name(), len(entries)+1); ok {
				entries = append(entries, again)
			}
		case w.oneIn(8) && len(entries) > 1:
			entries = w.leave(entries)
		case w.oneIn(16):
			_ = entries[0].lock.Extend(context.Background(), w.ttl) // Renewed tells when it worked
		}
	}
	for len(entries) > 0 {
		entries = w.leave(entries)
	}
}

// work looks at the lock, and later writes to the stores: as any code does, and as
// no code can do better.
func (w *worker) work(lock *redlock.Lock) {
	if !lock.Valid() {
		return
	}
	name, token := lock.Name(), lock.Token()
	for _, i := range w.chance.Perm(len(w.stores)) {
		s := w.stores[i]
		w.sleep(context.Background(), w.upTo(gap))
		if w.oneIn(2) {
			w.read(s, name, token)
		} else {
			w.write(s, name, token)
		}
	}
}

func (w *worker) write(s store, name string, token fence.Token) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	c := w.calls.call(history.Event{Name: name, Store: s.name(), Token: uint64(token)})
	c.log(history.Event{Kind: history.WriteBegins, Value: c.value()})
	err := s.write(ctx, name, token, c.value())
	c.log(history.Event{Kind: history.WriteEnds, Value: c.value(), Err: storeClass(err)})
}

// read reads as the holder with token, or as anybody if that is 0.
func (w *worker) read(s store, name string, token fence.Token) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	c := w.calls.call(history.Event{Name: name, Store: s.name(), Token: uint64(token)})
	c.log(history.Event{Kind: history.ReadBegins})
	value, err := s.read(ctx, name, token)
	c.log(history.Event{Kind: history.ReadEnds, Value: value, Err: storeClass(err)})
}

// leave unlocks one of the entries, whichever, and returns the others.
func (w *worker) leave(entries []entry) []entry {
	i := w.chance.IntN(len(entries))
	e, left := entries[i], slices.Delete(slices.Clone(entries), i, i+1)
	e.log(history.Event{Kind: history.UnlockBegins, Depth: len(left)})
	err := e.lock.Unlock(context.Background())
	e.log(history.Event{Kind: history.UnlockEnds, Depth: len(left), Err: lockClass(err)})
	return left
}

func (w *worker) oneIn(n int) bool                   { return w.chance.IntN(n) == 0 }
func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.chance.Int64N(int64(d))) }

func pick[T any](w *worker, from []T) T { return from[w.chance.IntN(len(from))] }

func (w *worker) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
