// Package membership keeps the members of a deployment. The masters hold a small replicated
// register: a table of the members, under a version. A member executes a request that needs a vote
// only if it has accepted the version of the request, and is a voting member in that version's
// table. docs/PROTOCOL.md has the rules.
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
// loop looks at all masters: it asks them for reports. It begins this look after it has learned
// the view, and after the previous step has ended.
//
// # A member
//
//	        an id             the table lists it          counters; quarantine
//	server ───────► enrolled ────────────────────► new ────────────────────────► voting
//	  ▲                                             │                     suspend │  ▲ resume
//	  │                                             │                             ▼  │
//	  └───── removed ◄────────quarantine────────────┴─────────────────────────── suspended
//
// A member whose server lost its data, or that an operator replaces, gives its place to a new
// member with another id.
//
// The counters are read at the version that lists the member as new, when that version is
// committed. A quorum that has accepted this version grants nothing at an older version any more,
// so no token is missed. A new member votes only after the quarantine, because its server may have
// forgotten grants. A member is removed only after the quarantine, because the smaller table has
// smaller quorums: everything that was granted with this member's vote must be over.
//
// The package must not depend on locks, holds or go-redis. It calls servers through package master.
package membership
