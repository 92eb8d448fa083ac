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

	// Addr returns the address of the server itself, not of a front, as "127.0.0.1:port".
	Addr() string

	// Running reports whether there is a process, frozen or not.
	Running() bool

	// Frozen reports whether there is a process, and Freeze has stopped it.
	Frozen() bool

	// Kill ends the process with SIGKILL, even a frozen one. It leaves the data folder as it is. Kill does nothing if
	// the master is down.
	Kill() error

	// Start starts a master that is down, and returns once it serves. It does nothing if the master is up.
	Start() error

	// Wipe removes the data of a master that is down.
	Wipe() error

	// Backup copies the data of the master, and replaces the earlier copy. If the master runs, the copy may lack
	// concurrent writes. With Fsync None there is no data to copy.
	Backup() error

	// Restore replaces the data of the master by the last copy of Backup. The master must be down. Without such a copy,
	// Restore returns ErrNoBackup.
	Restore() error

	// Crowd writes keys until the server refuses a write. A server with a volatile eviction policy has then evicted all
	// keys with an expiry. At the end Crowd removes its keys.
	Crowd() error

	// ReplicaOf makes the running server a replica of leader, whose data soon replaces the server's own. If leader is
	// nil, ReplicaOf makes the server a master again.
	ReplicaOf(leader Master) error

	// Freeze stops the process. The kernel still accepts connections, and requests are served after Thaw.
	Freeze() error

	// Thaw continues the process. It does nothing if the master is down or not frozen.
	Thaw() error

	// SetClock sets the server's realtime clock to the machine's clock plus offset. This lasts across restarts, until
	// the next call. The monotonic clock does not change. The error is ErrNoClock if the server has no clock preload.
	SetClock(offset time.Duration) error

	// Follow attaches a replica to the master, and returns when the replica has all data. It removes an earlier
	// replica.
	Follow(ctx context.Context) error

	// Lag ends the replication. The master goes on without the replica.
	Lag() error

	// Promote kills the master and puts the replica in its place, on the same address. Writes after Lag are lost.
	// Without Lag the last writes may be lost, because replication is asynchronous. Without Follow, Promote returns
	// ErrNoReplica.
	Promote() error

	// Occupy keeps the server busy with an endless script: other requests wait for 50 ms, and then get the reply BUSY.
	// The returned function ends the script.
	Occupy() (release func() error, err error)

	// Do sends one command straight to the server, not through a front.
	Do(ctx context.Context, args ...any) (any, error)
}
