package redlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
)

// LockAll locks 1 to 64 different names: all of them or none. As Lock does, it tries again and
// again until it has all names or ctx ends. LockAll takes one round trip when all names are free.
// Each name has a token and a hold of its own, as with Lock. All names together have one handle,
// one Context and one Unlock. If one name is lost, all are.
//
// Calls whose names overlap neither deadlock nor starve, in whatever order the names are given:
// if the first attempt at all names fails, LockAll takes the names one after the other in the order
// of their bytes. It keeps the names that it has while it waits for the next one. This order holds
// only within one call, so take all names in one call: callers that hold some names, and call
// LockAll or Lock for others, can deadlock.
//
// LockAll returns an *OptionError, and asks no master, if a name is given twice, or if ctx already
// carries the lock of one of the names: a set does not re-enter, so the call would wait for itself.
// (A Lock of one name can re-enter the hold of that name in a set: see Locks.Context.) WithMaxHold
// counts from when all names are held; WithWait bounds the whole wait; WithSlots is refused.
func (c *Client) LockAll(ctx context.Context, names []string, opts ...LockOption) (*Locks, error) {
	return c.lockAll(ctx, names, opts, true)
}

// TryLockAll asks every master once for all names, and returns like TryLock: with all names held,
// or with the error for the first name that it could not get.
func (c *Client) TryLockAll(ctx context.Context, names []string, opts ...LockOption) (*Locks, error) {
	return c.lockAll(ctx, names, opts, false)
}

// DoAll is Do for several names: it runs work while holding all of them. The context passed to work
// carries no token: tokens has the token of each name.
func (c *Client) DoAll(ctx context.Context, names []string, work func(ctx context.Context, tokens map[string]fence.Token) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	locks, err := c.LockAll(ctx, names, opts...)
	if err != nil {
		return err
	}
	defer unlockAfter(ctx, locks, &err)
	return work(locks.Context(), locks.Tokens())
}

func (c *Client) lockAll(ctx context.Context, names []string, opts []LockOption, waits bool) (*Locks, error) {
	c.check(ctx)
	names, err := inOrder(names)
	if err != nil {
		return nil, err
	}
	o, err := c.request(opts, mode{waits: waits})
	if err != nil {
		return nil, err
	}
	if o.Slots > 0 {
		return nil, &OptionError{"slots", o.Slots, "must not be set for several names: lock a name with slots by itself"}
	}
	for _, name := range names {
		if c.holds.FromContext(ctx, name) != nil {
			return nil, &OptionError{"names", fmt.Sprintf("%q", names), fmt.Sprintf("must not have %q: the context carries its lock already, and a set does not re-enter", name)}
		}
	}
	t := c.startTrace(ctx, true, &o, names...)
	return call(ctx, c, t, func() (*Locks, error) {
		set, err := c.locks.LockAll(ctx, names, o)
		if err != nil {
			return nil, err
		}
		locks := &Locks{client: c, names: names, set: set}
		if c.observer.handles {
			set.WatchHandle((*locksHandle)(locks))
		}
		return locks, nil
	}, (*Locks).discard)
}

// inOrder returns the names sorted by their bytes. All clients acquire the names of a set in this
// order.
func inOrder(given []string) ([]string, error) {
	if len(given) == 0 || len(given) > limits.MaxNames {
		return nil, &OptionError{"number of names", len(given), fmt.Sprintf("must be 1 to %d", limits.MaxNames)}
	}
	for i, name := range given {
		if err := validateLockName(name, 0); err != nil {
			bad := err.(*OptionError)
			return nil, &OptionError{fmt.Sprintf("names[%d]", i), bad.Value, bad.Rule}
		}
		if first := slices.Index(given, name); first < i {
			return nil, &OptionError{fmt.Sprintf("names[%d]", i), fmt.Sprintf("%q", name), fmt.Sprintf("must not be the same as names[%d]", first)}
		}
	}
	names := slices.Clone(given)
	slices.Sort(names)
	return names, nil
}
