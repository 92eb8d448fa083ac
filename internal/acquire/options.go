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

// Forever is a wait without a bound: it ends with the context.
const Forever time.Duration = math.MaxInt64

// Options are the options of one call, checked against the client's settings.
type Options struct {
	lease.Config               // without Drift, Set and Observer
	TTLGiven     bool          // else TTL is the default, which may be shortened
	Wait         time.Duration // 0: one attempt
	Fair         bool
	WaitForSetup bool
	Slots        int // 0: the name has no slots
	Observer     Observer

	set *setCall // the call for several names; nil: the call is for one name
}

// hold returns the configuration of a hold with these options.
func (o *Options) hold(drift float64) lease.Config {
	c := o.Config
	c.Drift, c.Observer = drift, o.Observer
	if o.set != nil {
		c.Set = o.set.Set
	}
	return c
}

// suit waits until the members are known, checks the options against the deployment, and sets o.TTL.
// It reports an error to the observer if the members are not known.
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
