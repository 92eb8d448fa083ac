package check

import "time"

// Bounds are the times that the rules allow.
type Bounds struct {
	// Told is how long after the end of its lease a process that runs may take to
	// notice it.
	Told time.Duration

	// Patience is how long the most patient waiters wait: who goes away with nothing
	// after that, while others had the lock, starved.
	Patience time.Duration

	// Hung is how much longer than Patience a call may take.
	Hung time.Duration

	// Outlive is how long after the end of the lease of a holder that died its lock
	// may still keep others out.
	Outlive time.Duration

	// GiveBack is how long a lock that was given back, or asked for in vain, may
	// still be there when nothing is in the way.
	GiveBack time.Duration

	// Recovery is how long after the end of all faults every name must have become
	// lockable.
	Recovery time.Duration

	// Grace is how long after its caller gave up, or died, a store may still do
	// what it was asked.
	Grace time.Duration

	// Decide is how long Porcupine may take over one name or register.
	Decide time.Duration
}

// DefaultBounds are those for leases of ttl in a deployment whose masters sit out
// maxTTL after a loss, on a machine that is busy with the run.
func DefaultBounds(ttl, maxTTL time.Duration) Bounds {
	return Bounds{
		Told:     500 * time.Millisecond,
		Patience: 40 * time.Second,
		Hung:     10 * time.Second,
		Outlive:  ttl + 3*time.Second,
		GiveBack: 400 * time.Millisecond,
		Recovery: maxTTL + 15*time.Second,
		Grace:    2 * time.Second,
		Decide:   time.Minute,
	}
}
