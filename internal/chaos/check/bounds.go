package check

import "time"

// Bounds are the times that the rules allow. Where no machine is late, as in virtual time, Told,
// Late, Calm and Busy are 0.
type Bounds struct {
	// Told is how long after the end of its lease a process that runs may take to notice it.
	Told time.Duration

	// Late is how long after the end of its lease a holder may be told, so that somebody else who
	// has the lock by then counts as one after the other. It is for a scheduler that lets a process
	// wait: beside a compiler on 2 cores, up to 164 ms were seen.
	Late time.Duration

	// Patience is how long the most patient waiters wait. A waiter that goes away with nothing
	// after that, while others had the lock, starved.
	Patience time.Duration

	// Hung is how much longer than its patience a call may take: that is Patience if it waits for a
	// lock, else 0. No timeout of a request or of a store is longer.
	Hung time.Duration

	// Outlive is how long after the end of a lease the lock may still keep others out.
	Outlive time.Duration

	// GiveBack is how long a lock that was given back, or asked for in vain, may still be there
	// when nothing is in the way. A waiter may take as long until it stands in line.
	GiveBack time.Duration

	// Recovery is how long after the end of all faults every name must have become lockable.
	Recovery time.Duration

	// Silent is how long after the end of a fault the connections on which it lost something may
	// stay silent.
	Silent time.Duration

	// Quarantine is how long after the end of a fault a master that lost its data, or was
	// restarted, may not vote.
	Quarantine time.Duration

	// Calm is how much longer than its ttl a renewed hold must have had a quorum of masters in
	// reach which no fault hurt, before its loss is a violation.
	Calm time.Duration

	// Busy is how long an access to a store, a try for a lock, a re-entry or an unlock takes at
	// most while the machine has time for everybody. While one takes longer, and its client is not
	// stopped, it is excused that a healthy hold is lost, or a try gets nothing, in spite of a
	// quorum. 0: the machine always has time.
	Busy time.Duration
}

// DefaultBounds are those for leases of ttl in a deployment whose masters sit out maxTTL after a
// loss, on a machine that is busy with the run.
func DefaultBounds(ttl, maxTTL time.Duration) Bounds {
	return Bounds{
		Told:       500 * time.Millisecond,
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
