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
	// KeepFor bounds how long one client hands a name that others wait for from caller to caller.
	// Each change of client costs a notice on top.
	KeepFor = 10 * time.Millisecond

	// maxGoneOn bounds how often a client that closes has masters go on with queues: past the dead
	// of 100 000 waiters and more.
	maxGoneOn = 2000
)

// nowhere is the place of who does not wait.
var nowhere lease.Place

// placeFor returns the place in the masters' queues of a waiter with that ticket. A waiter without
// a ticket gets one. The place is nowhere as long as a quorum of masters could not call this
// client.
func (c *Client) placeFor(ticket waitqueue.Ticket) lease.Place {
	if !c.notices.Reach().Quorum {
		return nowhere
	}
	if !ticket.Known() {
		ticket = c.tickets.Next(c.Now())
	}
	return lease.Place{Channel: &c.channel, Ticket: ticket}
}

// learnTime takes what a master's vote tells of its time.
func (c *Client) learnTime(master int, v script.Vote) {
	if v.Ticket != 0 {
		c.tickets.Learn(master, waitqueue.Reply{Time: v.Ticket, Sent: v.Sent, Got: v.Got})
	}
}

// callers are those of the client who want a name that another one has.
type callers struct{ c *Client }

func (o callers) Block(name string) { o.c.queues.Block(name) }

func (o callers) Unblock(name string) { o.c.queues.Unblock(name) }

// Next returns the acquisition of the waiter whose turn it is after h, if there is one and it does
// not ask for itself.
func (o callers) Next(h *lease.Hold) lease.Next {
	w, ticket := o.c.queues.Next(h.Name)
	if w == nil {
		return lease.Next{}
	}
	a := o.c.nextAttempt(h, w.Want, ticket)
	if a != nil {
		o.c.offers.add(a)
	}
	if !o.c.queues.Hand(w, a) || a == nil { // it has left, or asks by itself
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

// nextAttempt prepares the attempt of the caller of this client who comes after h, and has this
// ticket. As long as this client may keep the name, the masters keep it for that caller, whoever
// else waits. It returns nil if the deployment does not allow what the caller wants, who may not
// have asked before: the caller is told so when it asks by itself.
func (c *Client) nextAttempt(h *lease.Hold, o Options, ticket waitqueue.Ticket) *attempt {
	v := c.Members.View()
	ttl, err := c.Suits(v, o)
	if err != nil {
		return nil
	}
	o.TTL = ttl
	in := c.placeFor(ticket)
	a := c.prepare(v, h.Name, o, in)
	if in.Waits() && !o.Fair && c.Now().Before(h.Since.Add(KeepFor)) {
		a.h.Since = h.Since
	}
	return a
}

// Waiting is how many callers of this client wait for name.
func (c *Client) Waiting(name string) int { return c.queues.Waiting(name) }

// stopWaiting takes w out of all queues, with the lock or without.
func (c *Client) stopWaiting(name string, w *waiter, entry *lease.Entry) {
	untaken := c.queues.Leave(w, entry != nil, func(along bool, untaken *attempt) {
		if along {
			entry = nil // what was granted is not the place's
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

// leaveQueues tells the masters that no caller of this client waits for name. The masters that
// granted had know that already. A master that cannot be reached is told later, unless a caller
// waits again by then. Otherwise that master would first keep the free lock for this client when
// another client asks for it.
func (c *Client) leaveQueues(name string, had *lease.Entry) {
	knows := func(master int) bool {
		if had == nil {
			return false
		}
		s := had.Hold().Master(master)
		return s.Granted || s.Offered != 0 // or may grant yet: then the release tells
	}
	leave := c.leaveRequest(name, &c.channel)
	leave.Until = c.Now().Add(script.QueueTTL)
	leave.Policy = obsoleteIf(func(master int) bool { return knows(master) || c.Waiting(name) > 0 })
	for i, m := range c.Masters {
		if !knows(i) {
			one := *leave
			m.Submit(&one)
		}
	}
}

// obsoleteIf is the policy of a request that is not wanted any more once the function returns true.
type obsoleteIf func(master int) bool

func (f obsoleteIf) Obsolete(master int, _ bool) bool                   { return f(master) }
func (obsoleteIf) Prepare(_ int, given script.Call, _ bool) script.Call { return given }

func (c *Client) leaveRequest(name string, channel *string) *master.Request {
	k := script.KeysOf(c.Prefix, name, "")
	return &master.Request{Order: name, Call: script.Leave.Call(&k, channel), To: master.Nobody{}}
}

// GoOn has a master go on with a queue where a batch stopped at its bound. Each such request takes
// somebody out, so there is an end to them. Close waits for some, and does not believe a master
// that never comes to the end.
func (c *Client) GoOn(index int, lockKey string) {
	name, ok := script.NameOf(lockKey, c.Prefix, limits.MaxNameLen)
	if !ok || c.Closed.Err() != nil && c.goneOn.Add(1) > maxGoneOn {
		return
	}
	more := c.leaveRequest(name, &script.GoOn)
	more.Until = c.Now().Add(script.QueueTTL)
	c.Masters[index].Submit(more)
}
