package redlock

import (
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/testhook"
)

func init() {
	testhook.Clock = func(now func() clock.Instant) any {
		return clientOption(func(c *config) { c.now = now })
	}
	testhook.Unanswered = func(client any, master int) int { return client.(*Client).masters[master].Unanswered() }
	testhook.Owner = func(lock any, name string) (owner string) {
		switch l := lock.(type) {
		case *Lock:
			return l.h.ID
		case *Locks:
			for _, h := range l.holds() { // of a name that was acquired again, the last hold counts
				if h.Name == name {
					owner = h.ID
				}
			}
		}
		return owner
	}
	testhook.Holds = func(lock any) []*lease.Hold {
		if l, ok := lock.(*Lock); ok {
			return []*lease.Hold{l.h}
		}
		return lock.(*Locks).holds()
	}
	testhook.ID = func(client any) string { return client.(*Client).id }
	testhook.Acquire = func(client any) *acquire.Client { return client.(*Client).locks }
	testhook.RenewNow = func(client any, name string) { client.(*Client).holds.RenewNow(name) }
}
