// Package testhook gives redlocktest and the tests of this module access to package redlock that
// its public API must not offer. Package redlock sets its variables.
package testhook

import (
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
)

var (
	// Clock returns an option (a redlock.Option) that makes a client use now as its clock.
	Clock func(now func() clock.Instant) any

	// Unanswered returns how many questions of a client (a *redlock.Client) the master with this
	// number has not answered.
	Unanswered func(client any, master int) int

	// Owner returns the id of the acquisition that holds a name, of a *redlock.Lock or
	// *redlock.Locks.
	Owner func(lock any, name string) string

	// Holds returns the holds of a *redlock.Lock or *redlock.Locks, one for each name.
	Holds func(lock any) []*lease.Hold

	// ID returns the id of a client (a *redlock.Client).
	ID func(client any) string

	// Acquire returns the acquire.Client of a client (a *redlock.Client).
	Acquire func(client any) *acquire.Client

	// RenewNow makes all renewals of a name's holds due, of a client (a *redlock.Client).
	RenewNow func(client any, name string)
)
