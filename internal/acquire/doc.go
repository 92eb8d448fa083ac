// Package acquire acquires locks. It makes one attempt at all masters, or repeats attempts while a
// caller waits in line. It acquires several names at once, or one of several slots. It also
// re-enters holds, and takes a lock from others by force.
//
// The result is an entry into a hold, or a set of holds (package lease). Package acquire may
// depend on how masters are asked (package ask) and how callers of one client queue (package
// waitqueue). It must not depend on how options are given or checked, or on public types.
//
// # An attempt
//
// The numbers are the same as in the method conclude, and under "Acquisition" in docs/PROTOCOL.md.
//
//	1 prepare, sent ──► 2 voted ──► 3 stands at its token ──► 4 counted ──► begin: a hold
//	                     ▲  │            │                       │
//	                     │  └────────────┴───────────────────────┴──► 5 failed
//	              resume │                                               │
//	                     └────── queued at the masters ◄─────────────────┤ held, and has offers
//	                                    │ drop                           │ otherwise
//	                                    └───────────► canceled: undone ◄─┘
//
// Step 3 comes before step 4, because only votes that stand at the token count. A quorum refused a
// queued attempt, but releases may still grant it the lock, on one master after the other. A late
// grant in reply to the attempt's acquire is undone, unless it completes a quorum, or a copy of the
// acquire may still be executed. Without the undo, several waiters with a few grants each would block
// each other. After resume, conclude runs once more, with a new deadline.
//
// Each attempt has an owner of its own. So the next attempt cannot count a grant that a failed
// attempt left on a master. Such grants are undone in the background, even after the call has returned.
//
// # A call that waits
//
//	    ┌──woken, Step.Until, or subscriptions changed──┐
//	    ▼                                               │
//	waitqueue.Queues.Step ──Sleep───────────────────► asleep ──► left: time, context, Close
//	    │  ▲
//	    │  └─────failed: pauses.go sets the time of the next attempt
//	    ▼                              │
//	Ask, AskAlong, Conclude: an attempt┘
//	    │
//	    └──► an entry, or an error that does not pass with time
//
// Of a client's callers that wait for a name, only the first asks the masters, because a client has
// one place in each master's queue. Usually a notice starts the next attempt. If the holder died, or
// a notice was lost, the attempt starts at the time AskAt. pauses.go explains each pause.
package acquire
