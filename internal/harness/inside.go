package harness

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
)

// Inside returns the internals of a client.
func Inside(c *redlock.Client) *core.Client {
	return redlock.Inside(core.Key{}).Client(context.Background(), c)
}

// Hold returns the hold of a lock.
func Hold(lock *redlock.Lock) *lease.Hold { return redlock.Inside(core.Key{}).Holds(lock)[0] }

// Holds returns the holds of the names of a set.
func Holds(set *redlock.Locks) []*lease.Hold { return redlock.Inside(core.Key{}).Holds(set) }

// Waiting returns how many callers of a client wait for a name.
func Waiting(c *redlock.Client, name string) int { return Inside(c).Waiting(name) }

// ID returns the id of a client. Channel returns the channel of the masters' notices to a client.
func ID(c *redlock.Client) string      { return Inside(c).ID }
func Channel(c *redlock.Client) string { return identity.Channel(Inside(c).Prefix, ID(c)) }

// Settled waits until c has the answers to all its requests. This wait is needed because a method of c returns when a
// quorum has answered: on the other masters, its effect may still be missing.
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

// AllUp reports whether c can use all of its masters.
func AllUp(c *redlock.Client) bool {
	for _, m := range Inside(c).Masters {
		if !m.Usable() {
			return false
		}
	}
	return true
}
