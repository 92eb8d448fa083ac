// Package limits has the defaults and bounds that package redlock shares with other packages of
// this module. The docs of redlock's options and calls have them as numbers.
package limits

import "time"

const (
	// DefaultTTL is how long a lease lasts if nobody renews it: long enough that a renewal may fail
	// for 20 s, short enough that a dead holder's job is taken over within half a minute.
	DefaultTTL = 30 * time.Second

	// DefaultMaxTTL bounds every ttl plus lock delay.
	DefaultMaxTTL = time.Minute

	// MinTTL is the shortest ttl: scheduling and garbage collection could outlast a shorter lease.
	MinTTL = 50 * time.Millisecond

	// DefaultDrift is the share of a ttl by which a master's clock may run ahead of ours.
	DefaultDrift = 0.01

	// DefaultRequestTimeout is how long a master may take over one request. It bounds how long one
	// hung master, or a quorum of hung masters, delays a caller.
	DefaultRequestTimeout = 500 * time.Millisecond

	// DefaultPrefix begins every key.
	DefaultPrefix = "redlock"

	// MaxNameLen bounds a lock's name, in bytes.
	MaxNameLen = 1024

	// MaxNames bounds how many names LockAll takes.
	MaxNames = 64

	// MaxSlots bounds the slots of a name.
	MaxSlots = 64
)
