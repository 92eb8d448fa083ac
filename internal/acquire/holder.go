package acquire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// holderAfter is how long a call waits for a held lock before it asks a master who the holder is.
// The call asks only once. This request does not wait in the queue of requests.
const holderAfter = 100 * time.Millisecond

// holder is a process, and a time at which it had the lock.
type holder struct {
	process identity.Process
	at      clock.Instant
}

// askHolder finds the holder in the background: it asks a master that refused the lock.
func (c *waitingCall) askHolder() {
	c.holder = make(chan holder, 1)
	f, _ := errors.AsType[*ask.Failure](c.last)
	done, open := c.Begin()
	if !open {
		return
	}
	for i, v := range f.Votes {
		if v.Answer == script.Held {
			go func() {
				defer done()
				ctx, cancel := context.WithTimeout(c.Closed, c.RequestTimeout)
				defer cancel()
				if process, known := c.holderOn(ctx, c.Masters[i]); known {
					c.holder <- holder{process, c.Now()}
				}
			}()
			return
		}
	}
	done()
}

// holderOn asks one master which process has the lock.
func (c *waitingCall) holderOn(ctx context.Context, m *master.Master) (process identity.Process, known bool) {
	owner := ""
	if replies, err := m.Do(ctx, master.Text("get", script.KeysOf(c.Prefix, c.name, "").Lock)); err == nil {
		owner = script.ParseStored(replies[0].Text()).Owner
	}
	if owner == "" {
		return process, false
	}
	replies, err := m.Do(ctx, master.Text("get", script.ClientKey(c.Prefix, identity.ClientOf(owner))))
	if err != nil {
		return process, false
	}
	return identity.Read(replies[0].Text())
}

// reason returns why a call leaves without the lock. If another caller of this client has the lock, that is the reason.
// Otherwise the reason is the masters' last decision for this caller. If the masters decided nothing for this caller, the
// reason is their last decision for the first waiter of this client.
func (c *waitingCall) reason() error {
	h := c.Holds.Latest(c.name)
	left, here := time.Duration(0), false
	if h != nil {
		left, here = h.Left()
	}
	last := c.last
	if last == nil {
		last = c.queues.FailureBefore(c.w)
	}
	switch {
	case here && h.Blocks() || last == nil:
		f := &ask.Failure{Op: ask.OpAcquire, Name: c.name, Reason: ask.ErrHeld, Need: c.Needed(), FreeIn: max(0, left), Holder: "other callers of this client wait before it"}
		if here {
			f.Holder = holderHere(h)
		}
		return f
	case here:
		return heldBy(last, holderHere(h))
	}
	select {
	case o := <-c.holder:
		return heldBy(last, printable.Text(fmt.Sprintf("%s had it %v before", o.process, printable.Duration(c.Now().Sub(o.at)))))
	default:
		return last
	}
}

// holderHere describes this client's own hold as the reason why a call waits.
func holderHere(h *lease.Hold) string {
	with := "for reading"
	if !h.Reads.Load() {
		with = fmt.Sprintf("with token %v", h.Token)
	}
	return fmt.Sprintf("this client has had it for %v, %s: a call with a context from its Lock.Context re-enters", printable.Duration(h.Age()), with)
}

// heldBy returns err. If the reason of err is that the lock is held, heldBy adds the holder.
func heldBy(err error, holder string) error {
	return printable.Map(err, func(err error) error {
		f, is := err.(*ask.Failure)
		if !is || f.Reason != ask.ErrHeld {
			return err
		}
		named := *f
		named.Holder = holder
		return &named
	})
}
