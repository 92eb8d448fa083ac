package report

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// never is later than all that happened.
const never = time.Duration(1<<63 - 1)

// call is one entry of a client into a lock, from asking for it to having given it back. What did
// not happen, happens never.
type call struct {
	client string
	name   string
	waits  bool
	reads  bool
	of     int64 // of a re-entry: the call that brought the hold; 0: its token tells
	last   uint64
	token  uint64
	depth  int
	until  time.Duration // end of the lease, as last renewed; 0: not told
	err    string        // of the end

	begun, held, failed time.Duration
	down                time.Duration // from then on it reads
	told, leaves, left  time.Duration
	died                time.Duration // the process

	renewals []history.Event
	toldHow  string

	// Of the outermost entry, for the whole hold:
	inner []*call // re-entries
	uses  []*use
	wrong []belief
}

// use is a read or a write under the token of a hold.
type use struct {
	begun, ended time.Duration
	done         history.Event // what ended it, or what began it
}

// lease is the end of the lease, as far as the client knew.
func (c *call) lease() time.Duration {
	until := c.until
	for _, e := range c.inner {
		until = max(until, e.until)
	}
	if until == 0 {
		return never
	}
	return until
}

// trusts is until when the client had no reason to doubt that it holds the lock: it was told, it
// left, or it died.
func (c *call) trusts(end time.Duration) time.Duration {
	at := min(c.told, c.leaves, c.left, c.died, end)
	for _, e := range c.inner {
		at = max(at, e.trusts(end))
	}
	return at
}

// over is when the client should have stopped to use the lock.
func (c *call) over(end time.Duration) time.Duration { return min(c.lease(), c.trusts(end)) }

// acts is until when the client behaved as the holder: it trusted, or read and wrote as if.
func (c *call) acts(end time.Duration) time.Duration {
	at := c.trusts(end)
	for _, u := range c.uses {
		at = max(at, min(u.ended, end))
	}
	return at
}

// settled is when nothing was left to be drawn.
func (c *call) settled(end time.Duration) time.Duration {
	at := min(c.failed, c.died, c.left, end)
	if c.held < never {
		at = max(at, c.acts(end))
	}
	return at
}

// callID is what begins and ends of a call have in common.
type callID struct {
	client string
	call   int64
}

// calls collects the entries of all clients, in the order in which they were begun, and the uses
// without one (reads without a claim).
type calls struct {
	all   []*call
	stray map[string][]*use // by client

	byID  map[callID]*call
	uses  map[callID]*use // that have not ended
	holds map[holdID]*call
}

// holdID is what all entries and uses of a hold have in common. Names of locks have tokens of their
// own, but a store may have other names for its resources.
type holdID struct {
	client string
	token  uint64
}

func newCalls(events []history.Event) *calls {
	c := &calls{stray: map[string][]*use{}, byID: map[callID]*call{}, uses: map[callID]*use{}, holds: map[holdID]*call{}}
	for _, e := range events {
		c.take(e)
	}
	return c
}

func (c *calls) take(e history.Event) {
	id := callID{e.Client, e.Call}
	switch e.Kind {
	case history.LockBegins:
		entry := &call{client: e.Client, name: e.Name, waits: e.Waits, reads: e.Reads, of: e.Of, depth: e.Depth, begun: e.At,
			down: never, held: never, failed: never, told: never, leaves: never, left: never, died: never}
		c.all = append(c.all, entry)
		c.byID[id] = entry
	case history.WriteBegins, history.ReadBegins:
		c.use(id, e)
	case history.WriteEnds, history.ReadEnds:
		if u := c.uses[id]; u != nil {
			u.ended, u.done = e.At, e
			delete(c.uses, id)
		}
	case history.ClientKilled:
		c.bury(e.Client, e.At)
	default:
		if entry := c.byID[id]; entry != nil {
			c.follow(entry, e)
		}
	}
}

// follow notes what became of an entry.
func (c *calls) follow(entry *call, e history.Event) {
	switch e.Kind {
	case history.LockHeld:
		entry.held, entry.token, entry.last, entry.depth, entry.until = e.At, e.Token, e.Last, e.Depth, e.Until
		id := holdID{e.Client, e.Token}
		outer := c.holds[id]
		if entry.of > 0 {
			outer = c.byID[callID{e.Client, entry.of}]
		}
		switch {
		case outer != nil && outer.name == e.Name && e.Depth > 1:
			outer.inner = append(outer.inner, entry)
		case e.Token > 0: // readers have none
			c.holds[id] = entry
		}
	case history.LockFailed:
		entry.failed, entry.err = e.At, e.Err
	case history.Renewed:
		entry.until = e.Until
		entry.renewals = append(entry.renewals, e)
	case history.Told:
		entry.told, entry.toldHow = e.At, e.Err
	case history.DowngradeBegins:
		outer := entry
		if entry.of > 0 {
			outer = c.byID[callID{e.Client, entry.of}]
		}
		outer.down = min(outer.down, e.At)
	case history.UnlockBegins:
		entry.leaves = e.At
	case history.UnlockEnds:
		entry.left, entry.err = e.At, e.Err
	}
}

// use notes a read or a write with the hold whose token it bears.
func (c *calls) use(id callID, e history.Event) {
	u := &use{begun: e.At, ended: never, done: e}
	c.uses[id] = u
	if outer := c.holds[holdID{e.Client, e.Token}]; outer != nil && e.Token > 0 {
		outer.uses = append(outer.uses, u)
		return
	}
	c.stray[e.Client] = append(c.stray[e.Client], u)
}

// bury ends what a client that was killed had begun.
func (c *calls) bury(client string, at time.Duration) {
	for id, entry := range c.byID {
		if id.client == client {
			entry.died = at
			delete(c.byID, id)
		}
	}
	for id, u := range c.uses {
		if id.client == client {
			u.ended = min(u.ended, at)
			delete(c.uses, id)
		}
	}
}
