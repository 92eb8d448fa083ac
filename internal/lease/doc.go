// Package lease keeps a lock, from the votes of its acquisition until the hold is over.
//
// A Lease is a value: what each master granted to one owner, by version of the members, and until
// when a quorum proves that the owner holds the lock. It has no mutex, clock, goroutine or I/O.
// Every answer of a master goes in by one method, with the instants.
//
// Around it is the Hold, with a timer, contexts and entries: renewal, re-entry, release, linger and
// downgrade. A Hold never waits for a master. It asks, and returns the round, or takes the answers
// when they come. It may depend on the decisions of package quorum, and on its client only by the
// types Client, Callers and Observer. It must not depend on how a lock is acquired or waited for,
// on options, or on public types.
//
// # A master, for one owner
//
// These are the states of a Master. Master.take makes the transitions, and next decides by the
// state what the master is asked.
//
//	unasked ──held, refused or no answer──► refused ──not yours──► lost
//	   │                                       │                   ▲  │
//	   │                  granted by a release,│         not yours │  │ repaired
//	   │                  or by a late acquire ▼                   │  ▼
//	   └───────────granted────────────────► granted ───────────────┴──┘
//
// Beside each state, three facts may hold, in any combination:
//
//   - in doubt (MayArrive): a copy of an acquire or repair may be executed later. The master stays
//     in doubt, because no later answer proves that the copy is gone: the release must leave a
//     mark.
//   - offered (Offered): a release of another owner may grant the lock. The offer ends with the
//     grant, or lapses by itself.
//   - repairing (Repairs): repairs are on their way. The vote of a repair counts from the next
//     round on, because a rival may have had the lock between the last extend and the repair.
//
// A master that denies the lock stops counting at once, at all versions of the members. Its earlier
// grants are no proof any more, since its data may be gone.
//
// # A hold
//
//	New ──► acquisition ──Begin──► held ──End, once──► over
//	             │                   │                  ErrReleased: the last Exit
//	             │ Undo              │ tick renews      ErrExpired: tick, at the end of the lease
//	             ▼                   │ Reenter, Exit    ErrLost: denials, the others are no quorum
//	         given back              └ Take             another cause: Close
//
// An answer makes the lease longer only while the lease runs. A later one does not count, because a
// rival may have had the lock meanwhile.
//
// End works in this order. It sets the cause and ends the contexts under mu, so that a caller that
// gets the cause as an error finds its context done. Then it lets other callers of this client ask
// for the name, and calls the observer last, which may take its time. After ErrReleased, the
// release lets those callers in instead (handOver), so that the acquire of the next one is right
// behind the release in the queue of each master.
//
// A hold that expired or was lost is not released by End. Each Unlock after it sends a release; if
// there is none, the masters let the lock expire.
package lease
