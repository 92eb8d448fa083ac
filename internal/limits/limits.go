// Package limits has the defaults and bounds that package redlock shares with other packages of
// this module. The docs of redlock's options and calls repeat them as numbers.
package limits

import "time"

const (
	// DefaultTTL is how long a lease lasts if nobody renews it. It is long enough for renewals to fail
	// for 20 s. It is short enough for another caller to replace a dead holder within half a minute.
	DefaultTTL = 30 * time.Second

	// DefaultMaxTTL is, by default, the highest sum of a ttl and a lock delay.
	DefaultMaxTTL = time.Minute

	// MinTTL is the shortest ttl: scheduling and garbage collection could outlast a shorter lease.
	MinTTL = 50 * time.Millisecond

	// DefaultDrift is how much faster than this process's clock a master's clock may run: 0.01 is 1 %.
	DefaultDrift = 0.01

	// DefaultRequestTimeout is how long a master may take for one request. If one master hangs, or even
	// a quorum of masters, a caller is delayed for no longer than this.
	DefaultRequestTimeout = 500 * time.Millisecond

	// DefaultPrefix begins every key.
	DefaultPrefix = "redlock"

	// MaxNameLen is the greatest length of a lock's name, in bytes.
	MaxNameLen = 1024

	// MaxNames is the highest number of names for LockAll.
	MaxNames = 64

	// MaxSlots is the highest number of slots of a name.
	MaxSlots = 64
)
