// Package lease keeps a lock, from the votes of its acquisition until the hold is over.
//
// A Lease is a value. It records which masters granted the lock to one owner, at which version of
// the members, and until when a quorum proves that the owner holds the lock. It has no mutex, clock,
// goroutine or I/O. Each answer of a master is an argument of Master.take, together with its times.
//
// A Hold has a Lease, a timer, contexts and entries. It is renewed, re-entered, released and
// downgraded, and it may linger. A Hold never waits for a master. It sends requests, and returns
// their round, or takes the answers when they come. Package lease may depend on the decisions of
// package quorum, and on its client only through the types Client, Callers and Observer. It must not
// depend on how a lock is acquired or waited for, on options, or on public types.
//
// # A master, for one owner
//
// These are the states of a Master. The method take makes the transitions. The function next chooses
// the next request to the master by the state.
//
//	unasked ──held, refused or no answer──► refused ──not yours──► lost
//	   │                                       │                   ▲  │
//	   │                  granted by a release,│         not yours │  │ repaired
//	   │                  or by a late acquire ▼                   │  ▼
//	   └───────────granted────────────────► granted ───────────────┴──┘
//
// In each state, four facts may be true, in any combination:
//
//   - in doubt (MayArrive): a copy of an acquire or repair may be executed later. The master stays
//     in doubt, because no later answer proves that the copy is gone. So the release must leave a
//     gone mark.
//   - undoing (Undoing): the client undoes a grant that came before the attempt had a quorum, and a
//     copy of the undo may be executed later. Until the undo is answered, the master has no vote.
//   - offered (Offered): a release of another owner may grant the lock. The offer ends with the
//     grant, or lapses by itself.
//   - repairing (Repairs): repairs are on their way. The vote of a repair counts from the next
//     round on, because a rival may have had the lock between the last extend and the repair.
//
// After a master answers "not yours", its earlier votes no longer count, at any version of the
// members. They prove nothing any more, because the master's data may be gone.
//
// # A hold
//
//	New ──► acquisition ──Begin──► held ──End, once──► over
//	             │                   │                  ErrReleased: the last Exit
//	             │ Undo              │ tick renews      ErrExpired: tick, at the end of the lease
//	             ▼                   │ Reenter, Exit    ErrLost: denials, the others are no quorum
//	         given back              └ Take             another cause: Close
//
// An answer makes the lease longer only while the lease runs. A later answer does not count,
// because a rival may have had the lock meanwhile.
//
// End works in this order. It sets the cause and ends the contexts under mu, so that a caller that
// gets the cause as an error finds its context done. Then it lets other callers of this client ask
// for the name. It calls the observer last, because an observer may take long. With ErrReleased, not
// End but the release lets other callers ask (handOver), so that the acquire of the next caller is
// right behind the release in each master's queue of requests.
//
// End does not release a hold that expired or was lost. Each later Unlock sends a release. Without
// an Unlock, the lock expires on the masters.
package lease
