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

// holderAfter is how long a call that others keep waiting waits before it asks who they are, once,
// beside the queue of requests.
const holderAfter = 100 * time.Millisecond

// holder is who had a lock.
type holder struct {
	who identity.Process
	at  clock.Instant
}

// askHolder asks a master that refused the lock who has it. Nobody waits for the answer.
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
				if who, known := c.holderOn(ctx, c.Masters[i]); known {
					c.holder <- holder{who, c.Now()}
				}
			}()
			return
		}
	}
	done()
}

// holderOn asks one master.
func (c *waitingCall) holderOn(ctx context.Context, m *master.Master) (who identity.Process, known bool) {
	owner := ""
	if replies, err := m.Do(ctx, master.Text("get", script.KeysOf(c.Prefix, c.name, "").Lock)); err == nil {
		owner = script.ParseStored(replies[0].Text()).Owner
	}
	if owner == "" {
		return who, false
	}
	replies, err := m.Do(ctx, master.Text("get", script.ClientKey(c.Prefix, identity.ClientOf(owner))))
	if err != nil {
		return who, false
	}
	return identity.Read(replies[0].Text())
}

// reason is why a call that leaves has no lock: another caller of this client has it, or what the
// masters decided last, or what they decided for the caller of this client that comes before.
func (c *waitingCall) reason() error {
	h := c.Holds.Latest(c.name)
	left, here := time.Duration(0), false
	if h != nil {
		left, here = h.Left()
	}
	last := c.last
	if last == ask.ErrNotAcquired {
		if failure, behind := c.queues.FailureBefore(c.w); behind || c.behind {
			last = failure
		}
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
		return heldBy(last, printable.Text(fmt.Sprintf("%s had it %v before", o.who, printable.Duration(c.Now().Sub(o.at)))))
	default:
		return last
	}
}

// holderHere says that this client has the lock.
func holderHere(h *lease.Hold) string {
	with := "for reading"
	if !h.Reads.Load() {
		with = fmt.Sprintf("with token %v", h.Token)
	}
	return fmt.Sprintf("this client has had it for %v, %s: a call with a context from its Lock.Context re-enters", printable.Duration(h.Age()), with)
}

// heldBy adds to an error, if others hold the lock, who they are.
func heldBy(err error, who string) error {
	return printable.Map(err, func(err error) error {
		f, is := err.(*ask.Failure)
		if !is || f.Reason != ask.ErrHeld {
			return err
		}
		named := *f
		named.Holder = who
		return &named
	})
}
