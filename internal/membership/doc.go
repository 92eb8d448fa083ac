// Package membership keeps the members of a deployment. The masters hold a small replicated
// register: a table of the members, under a version. Only a member that the table lists as voting,
// and that has accepted the version of a request, executes the request. docs/PROTOCOL.md has the
// rules.
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
// decides after each report and after each step, so no event can be lost. It takes a step only
// after a look at all masters that began after the view was learned and after the last step ended.
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
// The counters are read at the version that lists the member as new, when that is committed. A
// quorum that has accepted this version grants nothing at an older version any more, so no token is
// missed. The quarantine comes before the vote, because the server may have granted locks that it
// forgot, and before the removal, because the smaller table has smaller quorums: everything that
// was granted with the vote of the removed member must be over.
//
// The package must not depend on locks, holds or go-redis. It calls servers by way of package
// master.
package membership
