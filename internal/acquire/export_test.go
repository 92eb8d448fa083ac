package acquire

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Internals for package acquire_test.

// Attempt is an attempt at one name that a test makes step by step.
type Attempt struct{ *attempt }

// Attempt prepares an Attempt, and sends nothing yet.
func (c *Client) Attempt(name string, o Options) Attempt {
	return Attempt{c.prepare(c.Members.View(), name, o, nowhere)}
}

func (a Attempt) Hold() *lease.Hold       { return a.h.Hold }
func (a Attempt) Asked() *quorum.Round    { return &a.asked }
func (a Attempt) Deadline() clock.Instant { return a.deadline }
func (a Attempt) Send()                   { a.h.Send(&a.asked, a.call) }
func (a Attempt) Cancel()                 { a.cancel(nowhere) }

func (a Attempt) Conclude(ctx context.Context) (*lease.Entry, error) {
	return a.client.conclude(ctx, a.attempt)
}

// SetTry is a try at the names of a set that a test makes step by step.
type SetTry struct {
	*setCall
	names []string
}

// SetTry prepares a SetTry, and sends nothing yet.
func (c *Client) SetTry(ctx context.Context, names []string, o Options) SetTry {
	return SetTry{c.newSet(ctx, o, waitqueue.Ticket{}), names}
}

// TakeInOrder takes one name after the other, as a set does after it failed to take all at once.
func (s SetTry) TakeInOrder(wait time.Duration) error {
	return s.takeInOrder(s.names, s.limit(wait))
}

func (s SetTry) AskForAll(v *membership.View) (attempts []Attempt) {
	for _, a := range s.askForAll(v, s.names, s.Deadline()) {
		attempts = append(attempts, Attempt{a})
	}
	return attempts
}

func (s SetTry) MakeTokens(ctx context.Context, attempts []Attempt, votes [][]script.Vote) error {
	return s.makeTokens(ctx, inner(attempts), votes)
}

func inner(attempts []Attempt) (all []*attempt) {
	for _, a := range attempts {
		all = append(all, a.attempt)
	}
	return all
}

// Waiter is a waiter in the queue of a name, moved step by step by a test.
type Waiter struct {
	*waiter
	client *Client
	name   string
}

// Join puts a Waiter in the queue.
func (c *Client) Join(name string, o Options) Waiter {
	return Waiter{c.queues.Join(name, o, o.Reads, waitqueue.Ticket{}), c, name}
}

func (w Waiter) Try(ctx context.Context) error {
	_, _, err := w.client.tryFor(ctx, w.name, w.waiter, nil)
	return err
}

func (w Waiter) Leave() { w.client.stopWaiting(w.name, w.waiter, nil) }

// Step returns what the waiter does now.
func (w Waiter) Step() waitqueue.Action {
	return w.client.queues.Step(w.waiter, w.client.Now(), w.client.notices).Action
}

type ObsoleteIf = obsoleteIf

func (c *Client) LeaveRequest(name string) *master.Request { return c.leaveRequest(name, &c.channel) }
func (c *Client) Reached() bool                            { return c.notices.Reach().Quorum }
func (c *Client) CallsNeeded() int                         { return c.notices.Reach().Calls }
func (c *Client) NextTicket() waitqueue.Ticket             { return c.tickets.Next(c.Now()) }

// Called makes c handle a call: a master keeps the lock with this key for c.
func (c *Client) Called(master int, lockKey string) { c.called(master, script.ParseNotice(lockKey)) }
