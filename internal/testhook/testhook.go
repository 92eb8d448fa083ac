// Package testhook has what package redlock lends to redlocktest and to the tests of this module,
// and to nobody else: what its public API cannot do, or must not offer. Package redlock sets it.
package testhook

import (
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
)

var (
	// Clock makes an option of a client (a redlock.Option) of the clock that it is to go by.
	Clock func(now func() clock.Instant) any

	// Unanswered tells how many questions of a client (a *redlock.Client) a master has not
	// answered, by the master's number.
	Unanswered func(client any, master int) int

	// Owner returns the id of the acquisition that holds a name, of a *redlock.Lock or
	// *redlock.Locks.
	Owner func(lock any, name string) string

	// Holds returns what a *redlock.Lock or *redlock.Locks is a handle of: a hold for each name.
	Holds func(lock any) []*lease.Hold

	// ID returns the id of a client (a *redlock.Client).
	ID func(client any) string

	// Acquire returns what acquires locks for a client (a *redlock.Client).
	Acquire func(client any) *acquire.Client

	// RenewNow makes all renewals due that a client (a *redlock.Client) makes of its holds of a
	// name.
	RenewNow func(client any, name string)
)
