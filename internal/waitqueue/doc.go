// Package waitqueue keeps the waiters of one client: the local queue of callers of each name
// (Queues), their places in the masters' queues (Progress), their tickets (Tickets), and whether
// masters can notify the client (Notices).
//
// It must not depend on requests, connections or holds: a hold only blocks a name here, and an
// attempt is only handed over. It sends nothing: when the last waiter leaves, or a notice has no
// waiter, it calls functions that its callers passed in, and these send what is needed.
//
// # A waiter
//
//	          TurnOf: it is the first, and no hold of this client blocks the name
//	Join ──► waiting ─────────────────────────────────────────────────────► asking
//	           ▲ │ ▲                                                          │ ▲
//	           │ │ └──────────────TurnOf: a hold blocks the name──────────────┘ │
//	 Hand: no  │ │ Next: the hold ends                                          │
//	 attempt   │ ▼                                     TurnOf takes the attempt │
//	         promised ──────────────────Hand────────────────────────────────► handed
//
// Leave ends each state.
//
// When a hold ends, Next promises the name to the first waiter. Hand gives that waiter the attempt,
// which the caller made meanwhile, outside of any mutex. A waiter that was promised an attempt does
// not ask by itself. If it leaves before the attempt is there, Hand reports false. If it leaves
// with an attempt that it did not take, Leave returns the attempt.
//
// A waiter that sleeps between its attempts is asking too. Next then wakes it and promises nothing:
// it asks by itself, and a second attempt of the client would compete with its own.
//
// When the first waiter leaves without the lock, the next one inherits its Progress and its last
// attempt: masters queue clients, not callers, and the client's ticket must not be lost. After a
// waiter that was served there is nothing to inherit: the masters that granted have taken the
// client out of their queues.
//
// # Locks
//
// Queues.mu is taken first. The functions that Leave and Notice call hold it. They may take the
// mutex of Notices, of a hold and of a master's request queue. While another mutex of this package
// is held, nothing outside of the package is called.
package waitqueue
