// Package waitqueue keeps the waiters of one client: the local queue of callers of each name
// (Queues), their places in the masters' queues (Progress), their tickets (Tickets), and whether
// masters can notify the client (Notices).
//
// It must not depend on requests, connections or holds: all that a hold does here is to block a name,
// and an attempt is only handed over. The package sends nothing. When the last waiter leaves, or a
// notice has no waiter, it calls a function that its caller passed in. This function sends the requests.
//
// # A waiter
//
// Step decides what a waiter does, from the state alone: see testdata/step. So a wake-up is only a
// hint: it carries no reason that could be lost.
//
//	          Step: it is the first, and no hold of this client blocks the name
//	Join ──► waiting ─────────────────────────────────────────────────────► asking
//	           ▲ │ ▲                                                          │ ▲
//	           │ │ └───────────────Step: a hold blocks the name───────────────┘ │
//	 Hand: no  │ │ Next: the hold ends                                          │
//	 attempt   │ ▼                                       Step takes the attempt │
//	         promised ──────────────────Hand────────────────────────────────► handed
//
// Leave is allowed in each state.
//
// When a hold ends, Next promises an attempt to the first waiter. The caller of Next makes the
// attempt, outside of any mutex, and passes it to Hand. A waiter that was promised an attempt does
// not ask by itself. If it leaves before the attempt is handed over, Hand reports false. If it
// leaves with an attempt that it did not take, Leave returns the attempt.
//
// A waiter that sleeps between its attempts is in the state asking as well. Next makes such a
// waiter ask at once, and promises nothing: a second attempt of the client would compete with the
// waiter's own attempt.
//
// When the first waiter leaves without the lock, and neither holds block the name nor an attempt is
// promised to the waiter, the next waiter inherits its Progress and its last attempt: masters queue
// clients, not callers, and the client's ticket must not be lost. A waiter that was served leaves
// nothing to inherit: the masters that granted have removed the client from their queues.
//
// # Locks
//
// Queues.mu is locked first. It is held while Leave and Notice call the functions that they were given.
// These may lock the mutex of Notices, of a hold and of a master's request queue. While another mutex of
// this package is held, no code outside of the package is called.
package waitqueue
