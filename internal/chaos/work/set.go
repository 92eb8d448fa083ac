package work

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/core"
)

// largestSet is the largest number of names in a set.
const largestSet = 4

// set acquires several names together, works under them for longer or shorter than the lease, and
// releases them. In the history each name has a call of its own.
func (w *worker) set(ctx context.Context) {
	names, some := slices.Clone(w.Names), 2+w.chance.IntN(min(len(w.Names), largestSet)-1)
	w.chance.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	locks, entries := w.lockAll(ctx, names[:some])
	for _, e := range entries {
		w.holds.begin(e)
		defer w.holds.end(e)
	}
	if locks == nil {
		return
	}
	over, leave := context.WithTimeout(locks.Context(), w.upTo(2*w.TTL))
	defer leave()
	for over.Err() == nil {
		w.sleep(over, w.upTo(w.gap()))
		e := pick(w, entries)
		w.work(locks, e.known.Name, e.token, false)
		if w.oneIn(16) {
			_ = locks.Extend(context.Background(), w.TTL)
		}
	}
	log := func(kind history.Kind, err error) {
		for _, e := range entries {
			e.log(history.Event{Kind: kind, Err: LockClass(err), Until: endOf(locks, w.calls.out)})
		}
	}
	log(history.UnlockBegins, nil)
	log(history.UnlockEnds, locks.Unlock(context.Background()))
}

func (w *worker) lockAll(ctx context.Context, names []string) (*redlock.Locks, []entry) {
	asked, options := w.asked(history.Event{Kind: history.LockBegins, Depth: 1, Set: len(names)})
	wait := w.upTo(w.haste()) + time.Millisecond
	if w.oneIn(4) {
		wait = w.Patience * time.Duration(len(names)) // in the worst case the names are acquired one after the other
	}
	options = append(options, redlock.WithWait(wait))
	var entries []entry
	for _, name := range names {
		e := entry{call: w.calls.call(history.Event{Name: name})}
		e.of = e.known.Call
		entries = append(entries, e)
		asked.Of = entries[0].known.Call
		e.log(asked)
	}
	lockAll := w.client.TryLockAll
	if asked.Waits {
		lockAll = w.client.LockAll
	}
	locks, err := lockAll(ctx, names, options...)
	owners := map[string]string{} // by name; if a name was acquired again, its last hold counts
	if err == nil {
		for _, h := range redlock.Inside(core.Key{}).Holds(locks) {
			owners[h.Name] = h.ID
		}
	}
	for i := range entries {
		e := &entries[i]
		if err != nil {
			e.log(history.Event{Kind: history.LockFailed, Err: LockClass(err)})
			continue
		}
		e.lease, e.token = locks, locks.Token(e.known.Name)
		e.known.Token = uint64(e.token)
		e.log(history.Event{Kind: history.LockHeld, Depth: 1, Until: endOf(locks, w.calls.out), Owners: owners[e.known.Name]})
		e.watch()
	}
	if err != nil {
		return nil, nil
	}
	return locks, entries
}
