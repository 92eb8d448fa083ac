// Package redlock locks names on a quorum of independent Redis masters, for jobs
// where a wrong lock costs money. A lock is held by whoever has the grants of a
// majority of the masters, is renewed while the work runs, tells its holder in
// time when it can no longer be proved, and carries a fencing token: a number
// that grows with every fresh acquisition, for stores to compare.
//
//	err := client.Do(ctx, "payroll", func(ctx context.Context, token fence.Token) error {
//		// Stop when ctx ends. Pass token to every store that you write to.
//		return pay(ctx, token)
//	})
//
// # What is promised, and on what it rests
//
//   - At most one holder of a name at a time, as long as the clocks of masters and
//     holders run at rates within the drift allowance, and masters keep what they
//     acknowledged. Only rates matter: clocks may be set to anything.
//   - Tokens of completed acquisitions are unique, and grow in real-time order, as
//     long as a majority of masters keeps its counters. No clock is believed for
//     this: it holds under pauses, clock jumps, early expiry, lost and repeated
//     messages.
//   - The holder is told, by Lock.Context, when it can no longer prove its hold: by
//     a timer of its own at the lease's deadline, never by a reply that may not come.
//   - A holder that dies frees the lock: the masters let it expire.
//
// # What is not promised
//
//   - Mutual exclusion when clocks run wrong, or when a process is stopped between
//     looking at its lock and acting: that is what the token is for, and it needs a
//     store that refuses a token older than one it has seen.
//   - That code stops in time: the context tells it, no more.
//   - An order among clients, but for what WithFair tells. Callers of one Client
//     are served in order.
//
// # The clock, and the formula
//
// On Linux the clock is CLOCK_BOOTTIME, which counts suspended time as well;
// elsewhere it is Go's monotonic clock. No wall clock and no master's clock enters
// a decision. A vote counts
//
//	from before its request was written, for ttl - drift;  drift = ttl * 0.01 + 2 ms
//
// and a lease is valid for as long as a quorum of votes counts. An acquisition that
// has less than a tenth of the ttl left when it is decided fails.
//
// # Goroutines
//
// One for each master, from New to Close: it owns the connections and the queue
// (internal/master). One for each batch that is under way to a master half a
// millisecond away or more. While somebody waits, and for 5 s after, one more for each
// master's subscription (notices.keepSubscribed). While it is looked into whether a master
// may vote, or what a counter is that it lost, one more for that, which may have one for each master to ask them.
// A lock has none: its deadline and its renewals are timers, whose functions run
// for microseconds (hold.tick, suspendCheck.check) and wait for nothing. Close
// returns when all have ended.
//
// How it works, and why it is right, is told in docs/PROTOCOL.md.
package redlock
