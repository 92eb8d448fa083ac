package cluster

import (
	"context"
	"time"
)

// Master is one redis-server that can be hurt. Its address and name stay the same whatever happens
// to it. All methods may be called at any time and from several goroutines; those that change the
// server wait for each other.
type Master interface {
	// Name returns "m0", "m1" and so on.
	Name() string

	// Addr returns "127.0.0.1:port", of the server itself and not of a front.
	Addr() string

	// Running reports whether there is a process; a frozen one counts.
	Running() bool

	// Frozen reports whether Freeze was called since the start of the process, and Thaw was not.
	Frozen() bool

	// Kill ends the process with SIGKILL, also a frozen one. The data folder is left as it is.
	// Nothing happens when it is down.
	Kill() error

	// Start starts it when it is down, and returns once it serves. Nothing happens when it is up.
	Start() error

	// Wipe removes the data of a master that is down.
	Wipe() error

	// Backup copies the data of the master, which may run: then the copy lacks what is written
	// meanwhile. It takes the place of the copy before. With Fsync none there is no data.
	Backup() error

	// Restore puts the last copy in the place of the data of a master that is down. It needs
	// Backup.
	Restore() error

	// Crowd writes until a server whose policy evicts what expires has no such key left, or until
	// the server refuses, and removes what it wrote.
	Crowd() error

	// ReplicaOf makes the running server a replica of another one, whose data it takes soon, in the
	// place of its own; with nil, a master again.
	ReplicaOf(leader Master) error

	// Freeze stops the process. Connections are still accepted by the kernel, and what arrives is
	// served after Thaw.
	Freeze() error

	// Thaw lets it go on. Nothing happens when it is down or not frozen.
	Thaw() error

	// SetClock makes the server's realtime clock differ by offset from the machine's, at once and
	// over restarts, until the next call. The monotonic clock is not touched. The error is
	// ErrNoClock when the server has no clock preload.
	SetClock(offset time.Duration) error

	// Follow attaches a replica to the master and returns once it has all data. One that was
	// attached before is dropped.
	Follow(ctx context.Context) error

	// Lag lets the replica hear nothing more of its master, which goes on.
	Lag() error

	// Promote kills the master and puts the replica in its place, on the same address: what was
	// written after Lag is gone. Without Lag the replica may still lack what was written last,
	// since replication is asynchronous. It needs Follow.
	Promote() error

	// Occupy keeps the server busy with a script that does not end: others wait for 50 ms, and are
	// told BUSY. Call the function that it returns to end that.
	Occupy() (release func() error, err error)

	// Do sends one command straight to the server, not through a front.
	Do(ctx context.Context, args ...any) (any, error)
}
