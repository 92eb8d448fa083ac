package acquire

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/printable"
)

// Forever is the wait that ends with the context only.
const Forever time.Duration = math.MaxInt64

// Options are what one caller wants, checked by the client's own settings.
type Options struct {
	lease.Config               // but Drift, Set and Observer
	TTLGiven     bool          // else TTL is the default: it may be made shorter
	Wait         time.Duration // 0: one attempt
	Fair         bool
	WaitForSetup bool
	Slots        int // 0: the name has none
	Observer     Observer

	set *setCall // that asks for the name; nil: it is asked for alone
}

// hold is what a hold with these options is to be.
func (o *Options) hold(drift float64) lease.Config {
	c := o.Config
	c.Drift, c.Observer = drift, o.Observer
	if o.set != nil {
		c.Set = o.set.Set
	}
	return c
}

// suit makes sure that the members are known, and that an acquisition suits the deployment.
func (c *Client) suit(ctx context.Context, op, name string, o *Options) error {
	v, err := c.FirstView(ctx, op, name)
	if err == nil {
		ttl, err := c.Suits(v, *o)
		if err == nil {
			o.TTL = ttl
		}
		return err
	}
	if op == ask.OpAcquire && !errors.Is(err, ask.ErrNotAcquired) {
		err = printable.Because(ask.ErrNotAcquired, err)
	}
	o.Observer.NotMade(name, err)
	return err
}
