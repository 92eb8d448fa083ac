package check

import "time"

// Bounds are the times that the rules allow. In virtual time, where the machine is never late, Notice, Late, Calm and
// Busy are 0.
type Bounds struct {
	// Notice is how long a running process may take to notice the end of its lease.
	Notice time.Duration

	// Late is how long after the end of its lease a holder may still work, without a violation of the rule exclusion. A
	// client that acquires the lock in that time counts as a later holder. Late allows for a scheduler that delays a
	// process: beside a compiler on 2 cores, delays of up to 164 ms were seen.
	Late time.Duration

	// Patience is how long the most patient waiters wait. A waiter that gives up after that time has starved if others
	// got the lock meanwhile.
	Patience time.Duration

	// Hung is how long a call may take. A call that waits for locks may take Patience longer for each name. No timeout
	// of a request or of a store is longer than Hung.
	Hung time.Duration

	// Outlive is how long the lock may still exclude others after the end of its lease.
	Outlive time.Duration

	// GiveBack is how long a released lock, or votes of a failed attempt, may remain on the masters when there is no
	// fault. A waiter may take equally long to enter the queue.
	GiveBack time.Duration

	// Recovery is the longest time from the end of all faults until every name is lockable.
	Recovery time.Duration

	// Silent is how long a connection that lost a message may stay silent after the end of the fault.
	Silent time.Duration

	// Quarantine is the longest time from the end of a fault until a master that lost its data, or was restarted, votes
	// again.
	Quarantine time.Duration

	// Calm allows for a machine that is late. The loss of a renewed hold is a violation only if, before the loss, the
	// hold had a quorum of reachable and unhurt masters for its ttl plus Calm.
	Calm time.Duration

	// Busy is the longest time of an access to a store, a try for a lock, a re-entry or an unlock on a machine that is
	// not overloaded. If one of these takes longer while its client is not stopped, the machine counts as overloaded.
	// Then the loss of a hold and a failed try are excused even if there was a quorum. If Busy is 0, the machine is
	// never overloaded.
	Busy time.Duration
}

// DefaultBounds returns the bounds for leases of ttl, on a machine that is busy with the run. After a master of the
// deployment has lost its data, it does not vote for the duration maxTTL.
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
