// Package membership keeps the members of a deployment. The masters store a small replicated
// register: a table of the members, with a version. Some requests need a vote, for example acquires.
// A member executes such a request only if it has accepted the request's version, and is a voting
// member in the table of this version. docs/PROTOCOL.md has the rules.
//
//	connections, looks, refusals
//	        │ report, fault
//	        ▼
//	   []observed ──► world ──► view       for clients: which masters vote, at which version
//	        ▲           ├─────► outages    for the observer
//	        │           └─────► next       the next step, for the members or for an operator's change
//	        │                     │
//	        └────── do ◄──────────┘        one step at a time
//
// A world is a value, and the decisions from it are pure functions. One goroutine, Group.loop,
// decides after each report and after each step, so no event can be lost. Before each step, the
// loop looks at all masters: it asks them for reports. This look begins after the current view was
// found, and after the previous step has ended.
//
// # A member
//
//	        an id             the table lists it          counters; quarantine
//	server ───────► enrolled ────────────────────► new ────────────────────────► voting
//	  ▲                                             │                     suspend │  ▲ resume
//	  │                                             │                             ▼  │
//	  └───── removed ◄────────quarantine────────────┴─────────────────────────── suspended
//
// When a member's server lost its data, or an operator replaces a member, a new member with another
// id takes its place.
//
// The counters for a new member are read at the version that lists it as new, after this version was
// committed. A quorum that has accepted this version grants nothing at an older version any more,
// so no token is missed. A new member votes only after the quarantine, because its server may have
// forgotten grants. A member is removed only after the quarantine, too: the smaller table has
// smaller quorums, so everything that was granted with this member's vote must be over first.
//
// The package must not depend on locks, holds or go-redis. It calls servers through package master.
package membership
