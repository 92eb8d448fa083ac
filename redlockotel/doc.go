// Package redlockotel makes an Observer that reports the events of a client's locks to OpenTelemetry.
// A program gives the Observer to redlock.New or redlock.Open:
//
//	observer, err := redlockotel.NewObserver()
//	…
//	client, err := redlock.Open(urls, redlock.WithObserver(observer))
//
// One observer may serve several clients. The observer uses only the API of OpenTelemetry: the program chooses the SDK,
// and the server to which the SDK sends the traces and metrics.
//
// # Traces
//
//   - "redlock lock" ("redlock try_lock", "redlock read_lock", "redlock lock_all" and so on): a call, until it has the
//     lock or fails. Its parent is the span in the context of the call. Each failed attempt is an event of this span. A
//     Lock that fails is an error; a TryLock that is refused because another holds the lock is not an error.
//   - "redlock hold": a hold, from its acquisition to its end, with a link to the call. Its parent is the call's
//     parent, not the call, which is over. Failed renewals and jumps of clocks are events of this span. A hold that
//     ends before its Unlock is an error. The span is exported only when the hold ends: if a role is held for days,
//     its span is exported days after the acquisition.
//   - "redlock unlock": an Unlock. Its parent is the span in the context of Unlock.
//
// Spans of work under the lock are siblings of these spans, under the span of the caller.
//
// # Metrics
//
// The library's docs/OBSERVING.md lists the metrics, with their attributes and units, and some alerts.
// grafana/redlock.json is a dashboard for the metrics in a Prometheus server.
//
// The name of a lock is an attribute of spans, but not of metrics: for each combination of its attributes' values, a
// metric keeps a series as long as the process lives, and programs derive names from their data ("order:4711").
// WithNames adds the name, for programs with few names.
package redlockotel
