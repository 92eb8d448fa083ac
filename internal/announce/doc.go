// Package announce records on the masters what a client is: its host, process and name. An operator
// sees this record beside the client's holds.
//
// It may depend on masters, and not on locks or members. The record is a hint: nothing else depends
// on it.
//
// # One master
//
//	        Announce: it came up; the timer; Rename
//	quiet ──────────────────────────────────────► sending ──done──► quiet
//	  ▲                                            │  ▲ │
//	  │ after a second                             │  └─┘ stale: asked for meanwhile
//	  └───────────────refuses writes◄──────────────┘
//
// One request at a time is under way to a master: an older record should not overwrite a newer one. (After
// a timeout it may.)
// While a master refuses writes, each record also probes for the end of the refusal
// (Master.Wrote). So the record is sent each second, and not only when the timer fires.
package announce
