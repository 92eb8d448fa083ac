// Package core is what package redlock lends to the public packages beside it, and to nobody else:
// the inside of a redlock.Client as package admin needs it, a check for those that need a lock with
// one holder, and a lease's ttl and its end on the clock that leases are told by. Package redlock
// sets it.
package core

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
)

// Of returns the inside of a client (a *redlock.Client) for a call with ctx. It panics, as the
// client's own methods do, if the client is nil or zero or ctx is nil.
var Of func(ctx context.Context, client any) *Client

// CheckOneHolder is Client.CheckOptions (of a *redlock.Client, for a []redlock.LockOption) for code
// that must be the only holder of a name, as an election must: it also refuses redlock.WithSlots,
// given there or as the client's default.
var CheckOneHolder func(client, opts any) error

// Until returns when the lease of a lock (a *redlock.Lock or *redlock.Locks) ends if nothing renews
// it, on the clock of its client; of several names, that of the first to end.
var Until func(lock any) clock.Instant

// TTL returns the ttl by which the lease of such a lock is renewed.
var TTL func(lock any) time.Duration

// Client is the inside of one.
type Client struct {
	*ask.Asker
	Prefix string // of all keys

	// Enter begins a call: it checks that ctx has not ended and the client is open. Close waits
	// until leave is called, which is nil if there was an error.
	Enter func(ctx context.Context) (leave func(), err error)

	// Go runs f in a goroutine for which Close waits. The caller must have entered.
	Go func(f func())

	// CheckName tells what is wrong with the name of a lock.
	CheckName func(name string) error

	// MayAsk makes sure that it is known who votes, and that the client's settings suit the
	// deployment. Op and name are those of the error.
	MayAsk func(ctx context.Context, op, name string) error

	// Public makes the errors of Asker the ones that callers know.
	Public func(error) error

	// ForceUnlock takes the lock of that name from these acquisitions and releases it. The caller
	// must have entered.
	ForceUnlock func(ctx context.Context, name string, from []acquire.Acquisition) (fence.Token, error)
}
