// Package quorum decides what the answers of masters to one question mean: whether a quorum has
// granted, or no quorum can grant any more, which token the grants make, and for how long an
// answer counts. A Round asks the question, and collects the answers.
//
// It may depend on votes, the table of members, and masters to send requests to. It must not depend
// on holds, clients or names. The code that decides is pure, without a lock, a clock or a goroutine.
//
// # A tally
//
// Each master's vote is pending, and then granted, held, refused or unknown. The verdict is a
// function of the votes, and is computed anew each time:
//
//	                    as many grants as needed
//	undecided ──────────────────────────────────────────────► won
//	 ▲  │  ▲                                                   │
//	 │  │  └───Reopen: more are needed; Replace: one is gone───┘
//	 │  │ grants and pending votes together are too few
//	 │  ▼
//	lost       back by Queue: a release may grant yet; Resume undoes that
//
// Two kinds of rounds may stay undecided although no quorum can grant any more. If the asker may hold
// the lock (Held), the verdict waits until the pending votes cannot change whether the lock is lost:
// the end of a hold must not depend on which answer is first. The round of a release asks its Decider
// (Otherwise): by the rule "freed everywhere", a release can succeed without a quorum of votes.
//
// A vote may change: the answer to an acquire, and the notice that a release granted the lock, come in
// any order, and may come twice (merged). So the verdict may change too. OnVerdict is called once,
// with the first verdict. A caller that needs the current verdict calls Decided or Won.
//
// Votes that come after the verdict also go to the Weigher. This is how a late grant becomes one
// more vote of a hold, or is given back.
package quorum
