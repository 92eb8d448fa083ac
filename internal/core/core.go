// Package core is what package redlock lends to the public packages beside it, and to nobody else: the inside of a
// redlock.Client as package admin needs it, and a check for those that need a lock with one holder. Package redlock sets it.
package core

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
)

// Of returns the inside of a client (a *redlock.Client) for a call with ctx. It panics, as the client's own methods do,
// if the client is nil or zero or ctx is nil.
var Of func(ctx context.Context, client any) *Client

// CheckOneHolder is Client.CheckOptions (of a *redlock.Client, for a []redlock.LockOption) for code that must be the only holder
// of a name, as an election must: it also refuses redlock.WithSlots, given there or as the client's default.
var CheckOneHolder func(client, opts any) error

// Client is the inside of one.
type Client struct {
	Prefix         string // of all keys
	RequestTimeout time.Duration
	Now            func() clock.Instant
	Masters        []*master.Master
	Members        *membership.Group
	Closed         context.Context // it ends when Close begins

	// Enter begins a call: it checks that ctx has not ended and the client is open. Close waits until leave is
	// called, which is nil if there was an error.
	Enter func(ctx context.Context) (leave func(), err error)

	// Go runs f in a goroutine for which Close waits. The caller must have entered.
	Go func(f func())

	// CheckName tells what is wrong with the name of a lock.
	CheckName func(name string) error

	// MayAsk makes sure that it is known who votes, and that the client's settings suit the deployment. Op and name
	// are those of the error.
	MayAsk func(ctx context.Context, op, name string) error

	// FirstView returns who votes, once that is known, whatever the client's settings are.
	FirstView func(ctx context.Context, op string) (*membership.View, error)

	// UnknownMembers is the error of a call for which it is not known who votes.
	UnknownMembers func(op string) error

	// WhileMembersChange asks at the newest view, and again as long as that fails because the members have changed
	// meanwhile. It must be known who votes.
	WhileMembersChange func(ctx context.Context, deadline clock.Instant, ask func(*membership.View) error) error

	// ForceUnlock takes the lock of that name from these acquisitions and releases it. The caller must have entered.
	ForceUnlock func(ctx context.Context, name string, from []Acquisition) (fence.Token, error)
}

// Acquisition is one that a lock is taken from.
type Acquisition struct {
	Owner  string
	Stored string // what the value of its lock begins with
}
