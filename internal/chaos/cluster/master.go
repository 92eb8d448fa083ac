package cluster

import (
	"context"
	"time"
)

// Master is one redis-server with faults. Its address and name never change. All methods may be called at any
// time and from several goroutines; methods that change the server wait for each other.
type Master interface {
	// Name returns "m0", "m1" and so on.
	Name() string

	// Addr returns "127.0.0.1:port", of the server itself and not of a front.
	Addr() string

	// Running reports whether there is a process, frozen or not.
	Running() bool

	// Frozen reports whether Freeze was called since the start of the process, and Thaw was not.
	Frozen() bool

	// Kill ends the process with SIGKILL, even a frozen one. The data folder is left as it is.
	// Kill does nothing if the master is down.
	Kill() error

	// Start starts a master that is down, and returns once it serves. It does nothing if the master is up.
	Start() error

	// Wipe removes the data of a master that is down.
	Wipe() error

	// Backup copies the data of the master, and replaces the earlier copy. If the master runs, the copy lacks
	// concurrent writes. With Fsync none there is no data.
	Backup() error

	// Restore replaces the data of a master that is down by the last copy. It needs Backup.
	Restore() error

	// Crowd writes until a server with a volatile eviction policy has no other key with an expiry left, or until
	// the server refuses. Then it removes its keys.
	Crowd() error

	// ReplicaOf makes the running server a replica of leader, whose data soon replaces the server's own. With
	// nil it makes the server a master again.
	ReplicaOf(leader Master) error

	// Freeze stops the process. The kernel still accepts connections, and requests are served after Thaw.
	Freeze() error

	// Thaw continues the process. It does nothing if the master is down or not frozen.
	Thaw() error

	// SetClock makes the server's realtime clock differ by offset from the machine's, at once and
	// over restarts, until the next call. The monotonic clock is not touched. The error is
	// ErrNoClock if the server has no clock preload.
	SetClock(offset time.Duration) error

	// Follow attaches a replica to the master and returns once it has all data. It drops an earlier replica.
	Follow(ctx context.Context) error

	// Lag cuts the replica off from its master, which goes on.
	Lag() error

	// Promote kills the master and puts the replica in its place, on the same address: writes
	// after Lag are lost. Without Lag the replica may still lack the last writes,
	// because replication is asynchronous. It needs Follow.
	Promote() error

	// Occupy keeps the server busy with an endless script: other requests wait for 50 ms, and get the reply
	// BUSY. The returned function ends the script.
	Occupy() (release func() error, err error)

	// Do sends one command straight to the server, not through a front.
	Do(ctx context.Context, args ...any) (any, error)
}
