// Package master sends requests to one Redis server. It has the connections, the queue of requests,
// and the batches in which requests leave. It tracks whether the server can be used, sends some
// commands past the queue, and keeps a subscription. Its requests are operations of package script,
// and its answers are votes.
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
// A request's vote counts from the time that begin sets: after the link was connected, and before the batch is written.
// If a connection that has carried earlier batches breaks, its batch is sent once more, on a new connection. (After a
// time-out the batch is not sent again.) The requests are then marked as resent, because the first copy may be executed
// later.
//
// Requests with the same Order are never in flight in two batches: batches on different links keep no order, and a
// release must not overtake its own acquire. A request with First may overtake others in the queue, because its acquire
// was answered. The asker of a request with Until gets only the first answer.
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
// Every link is greeted before it carries a batch. The greeting shows the gate which member the server
// is, and the link's batches name this member. When a master's address leads to another member,
// Reconnect raises the epoch: no batch leaves on a link of an older epoch.
package master
