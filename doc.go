// Package redlock locks names on a quorum of independent Redis masters, for jobs where two holders at a time would
// cost money. A caller holds a lock when a majority of the masters has granted it. The library renews the lock while
// the work runs, and ends the holder's context in time when the hold can no longer be proved. The lock carries a
// fencing token, a number that grows with every fresh acquisition. Stores compare the tokens, and refuse old ones.
//
//	err := client.Do(ctx, "payroll", func(ctx context.Context, token fence.Token) error {
//		// Stop when ctx ends. Pass token to every store that you write to.
//		return pay(ctx, token)
//	})
//
// # What to call
//
//   - Make a client: [Open] with URLs, [New] with clients of go-redis. One client for each process
//     is enough. [Client.Ready] is for readiness probes.
//   - Run work under a lock: [Client.Do]. To hold the lock yourself: [Client.Lock],
//     [Client.TryLock], [Lock.Context], [Lock.Unlock].
//   - Hold several names, all or none: [Client.LockAll]. Let k callers hold a name: [WithSlots].
//     Let many callers read or one write: [Client.RLock], [Lock.Downgrade].
//   - Set the longest wait, [WithWait]; the longest hold, [WithMaxHold]; how long a lease lasts,
//     [WithTTL]; how long a name stays taken, [WithHoldAtLeast].
//   - Give the token to a store: [Lock.Token], [fence.FromContext], and packages guard/sqlguard,
//     guard/redisguard and guard/httpguard. Ask whether a token's holder still holds the lock:
//     [Client.Verify].
//   - See what happens: [WithObserver], [LogObserver]. See why a call got no lock: [QuorumError].
//
// Package leader elects a leader, package admin is for operators, and package redlocktest has masters for tests.
// Before the first lock, an operator founds a deployment of the masters, with package admin or the command redlock.
//
// # What is promised, and what it depends on
//
//   - At most one holder of a name at a time, as long as the clocks of masters and holders run at rates within the
//     drift allowance, and masters keep what they acknowledged. Clocks may show different times. But a clock that is
//     set forward counts as one that runs too fast.
//   - Tokens of completed acquisitions are unique, and grow in real-time order, as long as a
//     majority of masters keeps its counters. This promise depends on no clock: it is kept under
//     pauses, clock jumps, early expiry, and lost or repeated messages.
//   - Lock.Context ends when the hold can no longer be proved. A local timer ends it at the end of
//     the lease, even if no master replies.
//   - If a holder dies, the lock expires on the masters.
//
// # What is not promised
//
//   - Mutual exclusion when clocks run wrong, or when a process is paused after it looked at its
//     lock and before it acts. In these cases the token protects a store, if the store refuses a
//     token older than one it has seen.
//   - That code stops in time: the context only asks the code to stop.
//   - An order among clients, beyond the order of WithFair. Callers of one Client are served in order.
//
// # The clock, and the formula
//
// On Linux the clock is CLOCK_BOOTTIME, which also counts the time for which the machine is
// suspended. Elsewhere it is Go's monotonic clock. No lease is measured with a wall clock or the
// clock of a master. A vote counts
//
//	from before its request was written, for ttl - drift;  drift = ttl * 0.01 + 2 ms
//
// and a lease is valid for as long as a quorum of votes counts. An acquisition fails if less than a
// tenth of the ttl is left when the masters have decided.
//
// # Goroutines
//
// A client has one goroutine for each master, one for each master's subscription while a caller waits, one for each
// batch under way to a far master (half a millisecond or more away), and a few for other tasks, such as
// learning which masters vote. A lock has no goroutine: its deadline and its renewals are timers. [Client.Close]
// returns when all goroutines have ended.
//
// docs/PROTOCOL.md describes the protocol, and proves the promises.
package redlock

// For maintainers: where goroutines are started.
//
//   - One for each master, from New to Close (run in internal/master). This goroutine owns the
//     connections and the queue of requests, and carries the batches to a near master.
//   - One for each batch that is under way to a far master (carry in internal/master). A master
//     is far if it takes half a millisecond or more to answer.
//   - One for each master's subscription (keepSubscribed), while a caller waits and for 5 s after.
//   - One for each slot of a name, while a caller waits for a slot (waitForSlot).
//   - One for each caller that has waited for 100 ms, while the client asks a master for the holder (askHolder).
//   - One for each master while the client sends its own name, host and process to that master (internal/announce):
//     when the master comes up, and then less and less often, down to once an hour.
//   - One for each master that admin.Inspect asks (lookAt in package admin).
//   - In internal/membership: one loop, until Close, that decides what to do about the members (Group.loop).
//     The others are short: one for a step of this loop (loop.decide), and one for each request to a master. Such a
//     request asks for a report (Group.look), a change or an init (each), or sends a version (loop.push) or names
//     (loop.sendNames).
//
// The timers of a lock (hold.tick, suspendCheck.check) run for microseconds and wait for no master.
// The same is true of the function that WithContextRenewal runs when a context ends.
