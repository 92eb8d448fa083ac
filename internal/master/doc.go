// Package master sends requests to one Redis server. It has the connections, the queue of requests,
// and the batches in which they leave. It tracks whether the server can be used, sends some
// commands past the queue, and keeps a subscription. It takes operations (package script) and
// returns votes.
//
// It must not depend on locks, holds or the other masters. Whether a request is still needed is
// decided by its Policy. Whether a server may be used is decided by the Gate. No other package
// imports go-redis, except for the files that make Redis clients for this one.
//
// # A request
//
//	Submit ────► queued ─────take────► in a batch ──begin──► sent ──► answered
//	 │            │ ▲ │ ▲               │                              │
//	 │ refused    │ │ │ │               │ obsolete                     │ Until: neither yes
//	 ▼            │ │ │ │               ▼                              │ nor "not yours"
//	answered      │ │ │ │            dropped                           │
//	              │ │ │ └───────────────────── retries ◄───────────────┘
//	              │ │ │ Replace: the new request has its place
//	              │ │ └──────► answered, as not sent
//	              ▼ │
//	            blocked: to a far master, while its order is in flight
//
// begin stamps a request after the link was connected and before the batch is written, because a
// vote counts from then. A batch whose connection broke is sent once more, on a new connection, if
// the old one had carried batches before; after a time-out it is not. Its requests are marked as
// resent, since the first copy may be executed later.
//
// Requests of one order are never in flight in two batches: links keep no order among themselves,
// and a release must not overtake its own acquire. First overtakes on purpose, for acquisitions
// whose acquire was answered. A request with Until is answered once, and then retried without its
// asker.
//
// # A link
//
//	            greet             begin, exchange
//	hung up ───────────► connected ──────────────► in flight
//	 ▲  ▲ │               │   ▲                     │   │
//	 │  └─┘ failed:       │   └────── answers ──────┘   │
//	 │      a pause       │ another epoch               │ broke, or a reply that greet
//	 └────────────────────┴─────────────────────────────┘ has to look into
//
// Every link is greeted before it carries a batch, and its batches name the member that the gate
// found then. When the name of a master leads to another member, Reconnect raises the epoch: no
// batch leaves on a link of an older epoch.
package master
