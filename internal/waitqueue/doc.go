// Package waitqueue knows who waits in this client, and what its waiters know of the masters'
// queues: the local queue of callers of each name (Queues), their places in the masters' queues
// (Progress), their tickets (Tickets), and whether masters can notify the client (Notices).
//
// It must not know requests, connections or holds. Of a hold it knows only that the hold blocks a
// name. Of an attempt it knows only that one was handed over. It sends nothing: when the last
// waiter leaves, or nobody wants a notice, it calls functions that its callers passed in, and these
// send what is needed.
//
// # Handover
//
// When a hold ends, Next promises the name to the waiter whose turn it is. Hand gives that waiter
// the attempt, which the caller made meanwhile, outside of any mutex. A waiter that was promised an
// attempt does not ask by itself. It may have left before the attempt is there.
//
// # Locks
//
// Queues.mu is taken first. The functions that Leave and Notice call hold it. They may take the
// mutex of Notices, of a hold and of a master's request queue. While another mutex of this package
// is held, nothing outside of the package is called.
package waitqueue
