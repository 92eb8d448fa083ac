package check

import "time"

// Bounds are the times that the rules allow. Where the machine is never late, as in virtual time, Notice,
// Late, Calm and Busy are 0.
type Bounds struct {
	// Notice is how long after the end of its lease a running process may take to notice it.
	Notice time.Duration

	// Late is how long after the end of its lease a holder may notice it, so that another client that
	// has the lock by then counts as a later one. It allows for a scheduler that delays a process:
	// beside a compiler on 2 cores, up to 164 ms were seen.
	Late time.Duration

	// Patience is how long the most patient waiters wait. A waiter that gives up in vain
	// after that, while others had the lock, starved.
	Patience time.Duration

	// Hung is how much longer than its wait a call may take. The wait is Patience for a call that waits for a
	// lock, else 0. No timeout of a request or of a store is longer.
	Hung time.Duration

	// Outlive is how long after the end of a lease the lock may still exclude others.
	Outlive time.Duration

	// GiveBack is how long a released lock, or votes of a failed attempt, may remain on the masters
	// without a fault. A waiter may take as long until it is in the queue.
	GiveBack time.Duration

	// Recovery is how long after the end of all faults every name must have become lockable.
	Recovery time.Duration

	// Silent is how long after the end of a fault connections that lost a message may
	// stay silent.
	Silent time.Duration

	// Quarantine is how long after the end of a fault a master that lost its data, or was
	// restarted, may not vote.
	Quarantine time.Duration

	// Calm is how much longer than its ttl a renewed hold must have had a quorum of reachable masters
	// that no fault hurt, before its loss is a violation.
	Calm time.Duration

	// Busy bounds an access to a store, a try for a lock, a re-entry and an unlock while the machine
	// is not overloaded. While one takes longer, and its client is not stopped, the loss of a healthy
	// hold and a failed try are excused in spite of a
	// quorum. 0: the machine is never overloaded.
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
