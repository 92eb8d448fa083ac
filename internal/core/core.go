// Package core has the internals of a redlock.Client. Other packages of this module get them from redlock.Inside.
package core

import (
	"context"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
)

// Key is the argument of redlock.Inside. Other modules cannot make a Key: this package is internal, and because of
// Key's field, struct{}{} cannot be passed as a Key.
type Key struct{ _ int }

// Client has the internals of a redlock.Client.
type Client struct {
	*acquire.Client

	// Enter begins a call: it checks that ctx has not ended and the client is open. Close waits until
	// leave is called. leave is nil after an error.
	Enter func(ctx context.Context) (leave func(), err error)

	// Go runs f in a goroutine. Close waits for f. Call Go between Enter and the call of leave.
	Go func(f func())

	// CheckName returns an error for an invalid lock name.
	CheckName func(name string) error

	// MayAsk waits until the members are known, and checks that the client's settings suit the
	// deployment. The error names op and name.
	MayAsk func(ctx context.Context, op, name string) error

	// Public converts the errors of Asker into exported errors.
	Public func(error) error

	// ForceUnlock takes the lock of a name from these acquisitions, and releases the lock. Call
	// ForceUnlock between Enter and the call of leave.
	ForceUnlock func(ctx context.Context, name string, from []acquire.Acquisition) (fence.Token, error)
}
