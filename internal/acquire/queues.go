package acquire

import (
	"time"

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

const (
	// KeepFor is the longest time for which one client may hand a name from caller to caller
	// while other clients wait. Passing the name to another client costs one more notice.
	KeepFor = 10 * time.Millisecond

	// maxGoneOn is the largest number of requests by GoOn after Close. This many requests remove
	// over 100 000 dead waiters.
	maxGoneOn = 2000
)

// nowhere is the Place of a caller without a place in the masters' queues.
var nowhere lease.Place

// placeFor returns the place in the masters' queues for a waiter with this ticket, or with a new ticket
// if this ticket is not known. If no quorum of masters can call this client, placeFor returns nowhere.
func (c *Client) placeFor(ticket waitqueue.Ticket) lease.Place {
	if !c.notices.Reach().Quorum {
		return nowhere
	}
	if !ticket.Known() {
		ticket = c.tickets.Next(c.Now())
	}
	return lease.Place{Channel: &c.channel, Ticket: ticket}
}

// learnTime passes the master's time on to the tickets, if the vote contains it.
func (c *Client) learnTime(master int, v script.Vote) {
	if v.Ticket != 0 {
		c.tickets.Learn(master, waitqueue.Reply{Time: v.Ticket, Sent: v.Sent, Got: v.Got})
	}
}

// callers are the waiting callers of the client, for package lease.
type callers struct{ c *Client }

func (o callers) Block(name string) { o.c.queues.Block(name) }

func (o callers) Unblock(name string) { o.c.queues.Unblock(name) }

// Next hands an attempt to the next waiter of this client, and returns the attempt's acquire, to be sent with the
// release of h. Next returns the zero Next if no caller waits, or if the first waiter asks by itself.
func (o callers) Next(h *lease.Hold) lease.Next {
	w, ticket := o.c.queues.Next(h.Name)
	if w == nil {
		return lease.Next{}
	}
	a := o.c.nextAttempt(h, w.Want, ticket)
	if a != nil {
		o.c.offers.add(a)
	}
	if !o.c.queues.Hand(w, a) || a == nil { // the waiter has left, or asks by itself
		if a != nil {
			o.c.offers.forget(a)
		}
		return lease.Next{}
	}
	next := lease.Next{Asked: &a.asked, Call: a.call}
	if a.h.Since != 0 {
		next.Keep = &o.c.channel
	}
	return next
}

// nextAttempt prepares the attempt of the caller that comes after h in this client, with this
// caller's options and ticket. While KeepFor allows it, this caller gets the name ahead of other
// clients. nextAttempt returns nil if the deployment does not allow the options: the caller gets
// the error when it asks by itself.
func (c *Client) nextAttempt(h *lease.Hold, o Options, ticket waitqueue.Ticket) *attempt {
	v := c.Members.View()
	o, err := c.Resolve(v, nil, o)
	if err != nil {
		return nil
	}
	in := c.placeFor(ticket)
	a := c.prepare(v, h.Name, o, in)
	if in.Waits() && !o.Fair && c.Now().Before(h.Since.Add(KeepFor)) {
		a.h.Since = h.Since
	}
	return a
}

// Waiting returns the number of callers of this client that wait for name.
func (c *Client) Waiting(name string) int { return c.queues.Waiting(name) }

// stopWaiting removes w from its queue, and calls leaveQueues if w was the last. entry is nil if w
// leaves without the lock.
func (c *Client) stopWaiting(name string, w *waiter, entry *lease.Entry) {
	untaken := c.queues.Leave(w, entry != nil, func(along bool, untaken *attempt) {
		if along {
			entry = nil // the grant was not for the place in the queues
		}
		if w.EverAsked || untaken != nil && untaken.in.Waits() {
			c.leaveQueues(name, entry)
		}
	})
	abandonLast(w, nowhere)
	if untaken != nil {
		untaken.cancel(nowhere)
	}
	c.notices.Rest(&w.Listener)
}

// leaveQueues removes this client from the masters' queues for name. A master that granted has
// removed the client. A master that cannot be reached gets the request later, unless a
// caller waits again by then. Without the request, that master would keep a free lock for this
// client, although another client asks.
func (c *Client) leaveQueues(name string, entry *lease.Entry) {
	removed := func(master int) bool {
		if entry == nil {
			return false
		}
		s := entry.Hold().Master(master)
		return s.Granted || s.Offered != 0 // or the master may still grant: the release of the grant removes the client
	}
	leave := c.leaveRequest(name, &c.channel)
	leave.Until = c.Now().Add(script.QueueTTL)
	leave.Policy = obsoleteIf(func(master int) bool { return removed(master) || c.Waiting(name) > 0 })
	for i, m := range c.Masters {
		if !removed(i) {
			one := *leave
			m.Submit(&one)
		}
	}
}

// obsoleteIf is the policy of a request: if the function returns true before the request is sent, the request is dropped.
type obsoleteIf func(master int) bool

func (f obsoleteIf) Obsolete(master int, _ bool) bool                   { return f(master) }
func (obsoleteIf) Prepare(_ int, given script.Call, _ bool) script.Call { return given }

func (c *Client) leaveRequest(name string, channel *string) *master.Request {
	k := script.KeysOf(c.Prefix, name, "")
	return &master.Request{Order: name, Call: script.Leave.Call(&k, channel), To: master.Nobody{}}
}

// GoOn makes a master continue with the waiters of a queue. The master stopped before the last waiter, because a batch
// has a limited number of steps. Each request removes waiters, so the requests come to an end. After Close, maxGoneOn
// limits the requests, in case a master never comes to the end of the queue.
func (c *Client) GoOn(index int, lockKey string) {
	name, ok := script.NameOf(lockKey, c.Prefix, limits.MaxNameLen)
	if !ok || c.Closed.Err() != nil && c.goneOn.Add(1) > maxGoneOn {
		return
	}
	more := c.leaveRequest(name, &script.GoOn)
	more.Until = c.Now().Add(script.QueueTTL)
	c.Masters[index].Submit(more)
}
