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

// Options are the settings of one call. The options of the root package set the fields. Before each
// attempt, Resolve completes the Options, and checks that the deployment allows them.
type Options struct {
	lease.Config
	Given        Given
	Wait         time.Duration // 0: one attempt
	Fair         bool
	WaitForSetup bool
	Slots        int  // 0: the name has no slots
	NoSlots      bool // the name must not have slots
	Observer     Observer

	set *setCall // the call for several names; nil: the call is for one name
}

// Given records which settings the program has chosen. If it chose no ttl, the ttl is the default,
// which may be shortened. Any other setting that the program did not choose does not apply.
type Given struct{ TTL, MaxHold, AtLeast, Slots bool }

// suit waits until the members are known, and resolves the options. If the members stay unknown,
// suit reports the error to the observer.
func (c *Client) suit(ctx context.Context, op, name string, o *Options) error {
	v, err := c.FirstView(ctx, op, name)
	if err == nil {
		*o, err = c.Resolve(v, nil, *o)
		return err
	}
	if op == ask.OpAcquire && !errors.Is(err, ask.ErrNotAcquired) {
		err = printable.Because(ask.ErrNotAcquired, err)
	}
	o.Observer.NotMade(name, err)
	return err
}
