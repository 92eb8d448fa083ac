// Package master sends requests to one Redis server. It has the connections, the queue of requests,
// and the batches in which requests leave. It tracks whether the server can be used, sends some
// commands past the queue, and keeps a subscription. It takes operations (package script) and
// returns votes.
//
// It must not depend on locks, holds or the other masters. The Policy of a request decides
// whether the request is still needed. The Gate decides whether a server may be used. No other
// package imports go-redis, except for the files that make Redis clients for this package.
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
// begin stamps a request after the link was connected and before the batch is written, because its
// vote counts from that time. A batch whose connection broke is sent once more, on a new
// connection, if the old connection had carried batches before. (After a time-out it is not sent
// again.) The requests are then marked as resent, because the first copy may be executed later.
//
// Requests with the same Order are never in flight in two batches: links keep no order among
// themselves, and a release must not overtake its own acquire. A request with First overtakes on
// purpose: its acquire was answered. A request with Until is answered once. Its asker gets no
// answers to retries.
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
// found then. When the address of a master leads to another member, Reconnect raises the epoch:
// no batch leaves on a link of an older epoch.
package master
