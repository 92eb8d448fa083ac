package check

import "time"

// Bounds are the times that the rules allow. Where the machine is never late, as in virtual time, Notice,
// Late, Calm and Busy are 0.
type Bounds struct {
	// Notice is how long after the end of its lease a running process may take to notice it.
	Notice time.Duration

	// Late is by how much a holder may notice the end of its lease too late. A client that has acquired the
	// lock in that time counts as a later holder, not as an overlapping one. It allows for a scheduler that
	// delays a process: beside a compiler on 2 cores, up to 164 ms were seen.
	Late time.Duration

	// Patience is how long the most patient waiters wait. A waiter that gives up after that time without the
	// lock, while others had it, starved.
	Patience time.Duration

	// Hung is how much longer than its wait a call may take. The wait is Patience for a call that waits for a
	// lock, else 0. No timeout of a request or of a store is longer.
	Hung time.Duration

	// Outlive is how long after the end of a lease the lock may still exclude others.
	Outlive time.Duration

	// GiveBack is how long a released lock, or votes of a failed attempt, may remain on the masters when
	// there is no fault. A waiter may take the same time until it is in the queue.
	GiveBack time.Duration

	// Recovery is how long after the end of all faults every name must have become lockable.
	Recovery time.Duration

	// Silent is how long after the end of a fault connections that lost a message may stay silent.
	Silent time.Duration

	// Quarantine is how long after the end of a fault a master that lost its data, or was
	// restarted, may not vote.
	Quarantine time.Duration

	// Calm is by how much the time must exceed the ttl for which a renewed hold had a quorum of reachable
	// masters that no fault hurt, for its loss to be a violation.
	Calm time.Duration

	// Busy bounds an access to a store, a try for a lock, a re-entry and an unlock while the machine is not
	// overloaded. While one of these takes longer, although its client is not stopped, the loss of a healthy
	// hold and a failed try are excused even if there was a quorum. 0: the machine is never overloaded.
	Busy time.Duration
}

// DefaultBounds returns the bounds for leases of ttl in a deployment whose masters do not vote for maxTTL after a
// loss, on a machine that is busy with the run.
func DefaultBounds(ttl, maxTTL time.Duration) Bounds {
	return Bounds{
		Notice:     500 * time.Millisecond,
		Late:       250 * time.Millisecond,
		Patience:   40 * time.Second,
		Hung:       10 * time.Second,
		Outlive:    ttl + 3*time.Second,
		GiveBack:   400 * time.Millisecond,
		Recovery:   maxTTL + 15*time.Second,
		Silent:     time.Second,
		Quarantine: maxTTL + 3*time.Second,
		Calm:       250 * time.Millisecond,
		Busy:       100 * time.Millisecond,
	}
}
