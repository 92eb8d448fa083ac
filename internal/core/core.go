// Package core gives the other public packages of this module access to package redlock: to the
// inside of a redlock.Client for package admin, a check of options for elections, and a lease's ttl
// and its end on the client's clock. Package redlock sets its variables.
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

// Until returns when the lease of a lock (a *redlock.Lock or *redlock.Locks) ends if nothing renews
// it, on the clock of its client; for several names, the first end.
var Until func(lock any) clock.Instant

// TTL returns the ttl by which the lease of a *redlock.Lock or *redlock.Locks is renewed.
var TTL func(lock any) time.Duration

// Client has the internals of a redlock.Client.
type Client struct {
	*ask.Asker
	Prefix string // of all keys

	// Enter begins a call: it checks that ctx has not ended and the client is open. Close waits until
	// leave is called, which is nil after an error.
	Enter func(ctx context.Context) (leave func(), err error)

	// Go runs f in a goroutine; Close waits for it. Call it between Enter and leave.
	Go func(f func())

	// CheckName returns an error for an invalid lock name.
	CheckName func(name string) error

	// MayAsk waits until the members are known, and checks that the client's settings suit the
	// deployment. Op and name are for the error.
	MayAsk func(ctx context.Context, op, name string) error

	// Public converts the errors of Asker into exported ones.
	Public func(error) error

	// ForceUnlock takes the lock of that name from these acquisitions and releases it. Call it
	// between Enter and leave.
	ForceUnlock func(ctx context.Context, name string, from []acquire.Acquisition) (fence.Token, error)
}
