// Package waitqueue knows who waits in this client, and what its waiters know of the
// masters' queues: the local queue of callers of each name (Queues), their places in the
// masters' queues (Place), their tickets (Tickets), and whether masters can notify the
// client (Notices).
//
// It must not know requests, connections or holds. Of a hold it knows that it blocks a
// name, of an attempt that one was handed over. It sends nothing: what is to be sent
// when the last waiter leaves, or when nobody wants a notice, its callers do, in
// functions that they give.
//
// # Handing over
//
// When a hold ends, Next promises the name to the waiter whose turn it is, and Hand gives
// it the attempt that the caller made meanwhile, outside of any lock. A waiter that was
// promised one does not ask by itself. It may have left when the attempt is there.
//
// # Locks
//
// Queues.mu comes first. The functions that Leave and Notice call hold it, and may take
// that of Notices, of a hold and of a master's request queue. The other locks of this
// package are held over no call out of it.
package waitqueue
