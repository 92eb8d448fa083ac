package harness

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/testhook"
)

// Inside is what package redlock lends of a client.
func Inside(c *redlock.Client) *core.Client { return core.Of(context.Background(), c) }

// Hold is the hold that a lock is a handle of.
func Hold(lock *redlock.Lock) *lease.Hold { return testhook.Holds(lock)[0] }

// Holds are those of the names of a set.
func Holds(set *redlock.Locks) []*lease.Hold { return testhook.Holds(set) }

// Waiting is how many callers of a client wait for a name.
func Waiting(c *redlock.Client, name string) int { return testhook.Acquire(c).Waiting(name) }

// ID is that of a client, and Channel where the masters call it.
func ID(c *redlock.Client) string      { return testhook.ID(c) }
func Channel(c *redlock.Client) string { return identity.Channel(Inside(c).Prefix, ID(c)) }

// Settled waits until c has the answer to everything that it has asked. Calls return when a quorum
// has answered: what is to be seen on one master may not be there yet, and what is there may not be
// known to c.
func Settled(t *testing.T, c *redlock.Client) {
	t.Helper()
	Eventually(t, "everything is answered", func() bool {
		for _, m := range Inside(c).Masters {
			if m.Pending() > 0 {
				return false
			}
		}
		return true
	})
}

// AllUp tells whether c can use all of its masters.
func AllUp(c *redlock.Client) bool {
	for _, m := range Inside(c).Masters {
		if !m.Usable() {
			return false
		}
	}
	return true
}
