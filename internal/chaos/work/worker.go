package work

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/core"
)

// Times in proportion to the ttl.

// haste is the longest wait of most waiters. The other waiters wait for up to Settings.Patience, and must get
// the lock in that time.
func (s Settings) haste() time.Duration { return 4 * s.TTL }

// gap bounds the time between the check of the lock and a write. If the process is stopped during this time, the write
// may be stale.
func (s Settings) gap() time.Duration { return s.TTL * 6 / 100 }

// idle bounds the time between two holds of a worker.
func (s Settings) idle() time.Duration { return s.TTL * 12 / 100 }

// probeGap is the time between the two tries of a probe. It is longer than a release may take by the checks
// (check.Bounds.GiveBack), and shorter than the lease of a probe.
func (s Settings) probeGap() time.Duration { return s.TTL }

const (
	// storeTimeout is long: no fault hits a store, and after a timeout the result is unknown, which is hard to check.
	storeTimeout = 5 * time.Second

	// deepest is the largest number of entries of a hold.
	deepest = 3
)

// worker acquires one lock after the other. It has a goroutine of its own.
type worker struct {
	Settings
	private string // the name of a lock that only this worker uses
	client  *redlock.Client
	stores  []Store
	calls   *recorder
	holds   *holds
	chance  *rand.Rand
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		name := w.Names[w.chance.IntN(len(w.Names))]
		if w.oneIn(3) {
			w.read(pick(w, w.stores), name, 0)
		}
		if w.Sets > 0 && len(w.Names) > 1 && w.chance.IntN(100) < w.Sets {
			w.set(ctx)
		} else if e, ok := w.acquire(ctx, name, history.Event{Depth: 1, Reads: w.reads()}); ok {
			w.hold(e)
		}
		if w.oneIn(4) {
			w.probe(ctx)
		}
		w.sleep(ctx, w.upTo(w.idle()))
	}
}

// probe acquires a lock that only this worker uses, with the longest lease, and releases it. After probeGap it tries
// again. If the first try left something on the masters, the second try fails.
func (w *worker) probe(ctx context.Context) {
	for i := range 2 {
		if i > 0 {
			w.sleep(ctx, w.probeGap())
		}
		asked := history.Event{Depth: 1, TTL: w.MaxTTL}
		if e, ok := w.lock(ctx, w.private, asked, redlock.WithTTL(w.MaxTTL), redlock.WithoutWatchdog()); ok {
			w.leave([]entry{e})
		}
	}
}

// reads draws whether to acquire a lock for reading.
func (w *worker) reads() bool { return w.Reads > 0 && w.chance.IntN(100) < w.Reads }

// acquire acquires the lock, or re-enters it if ctx is the context of a hold. It draws the other parameters of the
// call.
func (w *worker) acquire(ctx context.Context, name string, asked history.Event) (entry, bool) {
	wait := w.upTo(w.haste()) + time.Millisecond
	if w.oneIn(4) {
		wait = w.Patience
	}
	asked, options := w.asked(asked)
	return w.lock(ctx, name, asked, append(options, redlock.WithWait(wait))...)
}

// asked adds random parameters to a call for a lock, and returns the call and its options.
func (w *worker) asked(e history.Event) (history.Event, []redlock.LockOption) {
	e.Waits, e.TTL, e.Watched = w.oneIn(2), w.TTL, true
	if w.oneIn(2) {
		e.Watched = false
		return e, []redlock.LockOption{redlock.WithoutWatchdog()}
	}
	return e, nil
}

// lock acquires a lock with options. asked describes the call.
func (w *worker) lock(ctx context.Context, name string, asked history.Event, options ...redlock.LockOption) (entry, bool) {
	lockBy := w.client.TryLock
	switch {
	case asked.Reads && asked.Waits:
		lockBy = w.client.RLock
	case asked.Reads:
		lockBy = w.client.TryRLock
	case asked.Waits:
		lockBy = w.client.Lock
	}
	c := w.calls.call(history.Event{Name: name})
	asked.Kind = history.LockBegins
	c.log(asked)
	lock, err := lockBy(ctx, name, options...)
	if err != nil {
		c.log(history.Event{Kind: history.LockFailed, Err: LockClass(err)})
		return entry{}, false
	}
	c.known.Token = uint64(lock.Token())
	held := history.Event{Kind: history.LockHeld, Depth: asked.Depth, Until: endOf(lock, w.calls.out)}
	e := entry{call: c, lock: lock, lease: lock, of: asked.Of, token: lock.Token(), reads: asked.Reads}
	if asked.Depth == 1 {
		e.of = c.known.Call
		held.Owners = redlock.Inside(core.Key{}).Holds(lock)[0].ID
		if asked.Reads {
			held.Last = uint64(lock.LastToken())
		}
	}
	c.log(held)
	e.watch()
	return e, true
}

// hold works under the lock, for longer or shorter than the lease, and releases it.
func (w *worker) hold(first entry) {
	w.holds.begin(first)
	defer w.holds.end(first)
	entries, reading := []entry{first}, first.reads
	over, leave := context.WithTimeout(first.lock.Context(), w.upTo(2*w.TTL))
	defer leave()
	for over.Err() == nil {
		w.sleep(over, w.upTo(w.gap()))
		w.work(entries[0].lock, first.lock.Name(), entries[0].lock.Token(), reading)
		switch {
		case w.oneIn(8) && len(entries) < deepest:
			if reentry, ok := w.reenter(first, len(entries)+1, reading); ok {
				entries = append(entries, reentry)
			}
		case w.oneIn(8) && len(entries) > 1:
			entries = w.leave(entries)
		case w.oneIn(16):
			_ = entries[0].lock.Extend(context.Background(), w.TTL) // Renewed records its success
		case w.Reads > 0 && w.oneIn(12):
			reading = w.downgrade(entries) || reading
		}
	}
	for len(entries) > 0 {
		entries = w.leave(entries)
	}
}

// reenter enters the hold once more. If the hold is a reader's, reenter sometimes asks to write, which must be refused.
func (w *worker) reenter(first entry, depth int, reading bool) (entry, bool) {
	asked := history.Event{Depth: depth, Of: first.of, Reads: w.reads()}
	if reading {
		asked.Reads = !w.oneIn(3)
	}
	reentry, ok := w.acquire(first.lock.Context(), first.lock.Name(), asked)
	reentry.token = first.token
	return reentry, ok
}

// downgrade turns the hold into a reader's hold, unless several of its entries are for writing. If the hold is a
// reader's already, the call renews its lease. downgrade reports whether the hold is a reader's now.
func (w *worker) downgrade(entries []entry) bool {
	writing := 0
	for i, e := range entries {
		if !e.reads {
			writing++
			entries[0], entries[i] = entries[i], entries[0]
		}
	}
	if writing > 1 {
		return false
	}
	e := entries[0]
	e.log(history.Event{Kind: history.DowngradeBegins, Until: endOf(e.lock, w.calls.out)})
	err := e.lock.Downgrade(context.Background())
	e.log(history.Event{Kind: history.DowngradeEnds, Err: LockClass(err), Until: endOf(e.lock, w.calls.out)})
	entries[0].reads = true
	return true
}

// work checks the lock, and reads or writes each store a little later. Any program has such a gap. A reader only reads.
func (w *worker) work(under lease, name string, token fence.Token, reading bool) {
	if !under.Valid() {
		return
	}
	for _, i := range w.chance.Perm(len(w.stores)) {
		s := w.stores[i]
		w.sleep(context.Background(), w.upTo(w.gap()))
		if reading || w.oneIn(2) {
			w.read(s, name, token)
		} else {
			w.write(s, name, token)
		}
	}
}

func (w *worker) write(s Store, name string, token fence.Token) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	c := w.calls.call(history.Event{Name: name, Store: s.Name(), Token: uint64(token)})
	c.log(history.Event{Kind: history.WriteBegins, Value: c.value()})
	err := s.Write(ctx, name, token, c.value())
	c.log(history.Event{Kind: history.WriteEnds, Value: c.value(), Err: storeClass(err)})
}

// read reads the store with the token, or without a claim if the token is 0.
func (w *worker) read(s Store, name string, token fence.Token) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	c := w.calls.call(history.Event{Name: name, Store: s.Name(), Token: uint64(token)})
	c.log(history.Event{Kind: history.ReadBegins})
	value, err := s.Read(ctx, name, token)
	c.log(history.Event{Kind: history.ReadEnds, Value: value, Err: storeClass(err)})
}

// leave unlocks a random entry, and returns the others.
func (w *worker) leave(entries []entry) []entry {
	i := w.chance.IntN(len(entries))
	e, left := entries[i], slices.Delete(slices.Clone(entries), i, i+1)
	e.log(history.Event{Kind: history.UnlockBegins, Depth: len(left), Until: endOf(e.lock, w.calls.out)})
	err := e.lock.Unlock(context.Background())
	ends := history.Event{Kind: history.UnlockEnds, Depth: len(left), Err: LockClass(err)}
	if len(left) > 0 { // renewals are now recorded for left[0]
		w.holds.begin(left[0])
		ends.Until = endOf(left[0].lock, w.calls.out)
	}
	e.log(ends)
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
