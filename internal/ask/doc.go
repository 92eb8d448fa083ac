// Package ask asks the masters: it sends a round, waits for its verdict, asks again while the
// members change, and returns a Failure if there was no grant.
//
// It may depend on the decisions of package quorum, and on package membership. It must not depend
// on holds, on how a lock is acquired or waited for, or on public types.
//
// # A call, while the members change
//
//	a round at a view ──Await──► verdict ──► won: done
//	       ▲                       │   └───► no quorum ──┐
//	       │                       └───────► held: done  │
//	       │       overtaken: another view, or a master  │
//	       │       that had no vote in the round has one ├──NewerView: none ──► done, with a Failure
//	       │                                             │
//	       └──────────────NewerView: a view──────────────┘
//
// The end of the context or of the client, and the deadline, end the wait in every state. An
// overtaken round does not wait for the pending votes: a master that hangs would delay the call by
// the whole request timeout, although the others could decide at the newer view. Each view has a
// round of its own, because votes of two versions are never added up.
//
// AwaitFreed, for releases, has no such loop and no context: masters execute a release at any
// version, and the context of an Unlock has often ended.
package ask
