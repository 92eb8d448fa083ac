package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/quorum"
)

// WithHoldAtLeast keeps the name taken until d has passed since the lock was acquired, even if the lock is unlocked
// earlier. Use it for schedulers that start the same job at the same time. Without it, each scheduler would run the job
// if the job takes less time than the difference of their clocks. ShedLock's name for the option is lockAtLeastFor.
//
// Unlock does not wait until d has passed: the work is over, and the lock's Context ends. The lock
// stays on the masters, but nobody renews it and nobody holds it: it cannot be re-entered, Verify
// reports it as stale, and a TryLock fails with ErrHeld, even a TryLock of the former holder. When
// d has passed, a waiter usually gets the name at once, and at the latest about a second later.
//
// d is measured by this process's clock; for the masters' clocks the drift allowance is added. If a
// lock is re-entered, the longest d of its entries counts, from the fresh acquisition on. Close keeps
// the name taken as Unlock does. If the holder dies, the lock is free after its ttl, even if d has not
// passed. If Unlock reaches no quorum of masters, it returns an error, and the client repeats the
// requests in the background, as without the option. Until a quorum has executed Unlock's requests,
// the lock may expire before d has passed.
//
// RLock refuses the option, and Unlock after Downgrade frees the name at once.
//
// d must be positive, and d plus the drift allowance at most the max ttl, because no master keeps a
// lock longer. Default: Unlock frees the name at once.
func WithHoldAtLeast(d time.Duration) LockOption {
	return lockOption(func(o *acquire.Options) { o.AtLeast, o.Given.AtLeast = d, true })
}

// longestAtLeast returns the longest d that WithHoldAtLeast accepts.
func (b *bounds) longestAtLeast() time.Duration {
	return max(0, quorum.LongestLinger(b.maxTTL, b.drift))
}
