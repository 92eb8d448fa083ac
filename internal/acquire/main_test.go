package acquire_test

import (
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
)

func TestMain(m *testing.M) { harness.Run(m) }

func inside(c *redlock.Client) *acquire.Client { return harness.Inside(c).Client }

func options() acquire.Options {
	return acquire.Options{Config: lease.Config{TTL: limits.DefaultTTL, Drift: limits.DefaultDrift, Watchdog: true}, Given: acquire.Given{TTL: true}, Wait: acquire.Forever, Observer: acquire.Silent{}}
}

// unlock unlocks an entry as Lock.Unlock does.
func unlock(c *redlock.Client, e *lease.Entry) error {
	_, writes := e.Unlock()
	freed, ended := e.Exit(writes)
	if ended != nil {
		return ended
	}
	return inside(c).AwaitFreed(freed, e.Hold().Name, inside(c).Deadline())
}
