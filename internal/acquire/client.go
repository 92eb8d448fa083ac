package acquire

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Reasons why a lock was not acquired. Packages ask and lease have the other reasons. The root package
// documents these errors.
var (
	ErrTooSlow    = errors.New("redlock: too slow, too little of the lease was left")
	ErrNeedsSetup = errors.New("redlock: setup required: check the masters, the user's rights and the list of masters")
)

// ErrBadOption is the error of Resolve for options that are invalid, or that the deployment does not allow.
var ErrBadOption = errors.New("redlock: bad option")

// Observer receives the events of one lock call and of its holds.
type Observer interface {
	lease.Observer

	// ReEnters: the call re-enters a hold.
	ReEnters()

	// Attempted: the masters were asked.
	Attempted()

	// Failed: an attempt that began at start got no lock.
	Failed(name string, start clock.Instant, err error)

	// NotMade: the masters could not be asked.
	NotMade(name string, err error)

	// Acquired: a quorum granted the lock. The hold begins after Acquired, so that the end of the
	// hold is reported later. An observer might never return from Acquired: see package unwind.
	Acquired(h *lease.Hold, start clock.Instant, asked *quorum.Round)
}

// Silent is an Observer that does nothing.
type Silent struct{ lease.Silent }

func (Silent) ReEnters()                                          {}
func (Silent) Attempted()                                         {}
func (Silent) Failed(string, clock.Instant, error)                {}
func (Silent) NotMade(string, error)                              {}
func (Silent) Acquired(*lease.Hold, clock.Instant, *quorum.Round) {}

// Config has the parts of the client that acquisitions use.
type Config struct {
	*ask.Asker
	Prefix string // of all keys
	ID     string // of the client

	// Resolve returns the options completed for a view, or an error if the deployment does not
	// allow them. Resolve shortens a default ttl that is too long, but never a given ttl. The
	// second argument is the hold that the call re-enters, or nil.
	Resolve func(*membership.View, *lease.Hold, Options) (Options, error)

	// Begin registers a call, and reports whether the client is open. If so, the caller must call
	// done, and Close waits until then.
	Begin func() (done func(), open bool)
}

// Client acquires locks for a redlock.Client.
type Client struct {
	Config
	Holds *lease.Holds

	channel  string // on which the masters call this client
	queues   waitqueue.Queues[Options, attempt]
	notices  *waitqueue.Notices
	tickets  *waitqueue.Tickets
	offers   offers
	goneOn   atomic.Int64 // calls of GoOn since Close
	uncalled uncalled
	seen     []atomic.Uint64 // by bucket: the highest token that counted
}

// New returns a Client that holds nothing.
func New(config Config) *Client {
	c := &Client{Config: config, channel: identity.Channel(config.Prefix, config.ID), seen: make([]atomic.Uint64, script.Buckets)}
	c.Holds = lease.NewHolds(lease.Client{Prefix: c.Prefix, Now: c.Now, View: c.Members.View, Masters: c.Masters, Callers: callers{c}, Begin: c.Begin})
	c.tickets = waitqueue.NewTickets(len(c.Masters), c.Needed())
	c.notices = waitqueue.NewNotices(len(c.Masters), c.Needed(), c.Now, c.keepSubscribed)
	return c
}

// Learned updates the notices and tickets for a new view.
func (c *Client) Learned(v *membership.View) {
	silent := make([]bool, len(v.Out))
	for i, out := range v.Out {
		silent[i] = out != nil
	}
	c.notices.SetQuorum(v.Table.Quorum(), silent)
	c.tickets.SetQuorum(v.Table.Quorum())
}

// Close ends the subscriptions.
func (c *Client) Close() { c.notices.Close() }

// Lock re-enters the hold of name that ctx carries. Without such a hold, Lock acquires the name
// afresh, with one attempt or with a wait.
func (c *Client) Lock(ctx context.Context, name string, o Options) (*lease.Entry, error) {
	if o.Slots > 0 {
		return c.lockSlot(ctx, name, o)
	}
	if h := c.Holds.FromContext(ctx, name); h != nil {
		return c.reenter(ctx, h, o)
	}
	if o.Wait > 0 {
		return c.wait(ctx, name, o, c.limit(o.Wait))
	}
	return c.once(ctx, name, o, nowhere)
}
