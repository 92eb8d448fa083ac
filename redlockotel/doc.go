// Package redlockotel makes an Observer of the lock that reports to OpenTelemetry. A program gives
// it to redlock.New or redlock.Open:
//
//	observer, err := redlockotel.NewObserver()
//	…
//	client, err := redlock.Open(urls, redlock.WithObserver(observer))
//
// One observer may serve several clients. It uses the API of OpenTelemetry only: which SDK
// collects, and where it sends, is the program's choice.
//
// # Traces
//
//   - "redlock lock" ("redlock try_lock", "redlock read_lock", "redlock lock_all" and so on): a call, from its begin
//     until it has the lock or gives up. Its parent is the span in the context of the call. Each failed attempt is an
//     event of it. A Lock that gives up is an error; a TryLock that is refused because another holds the lock is none.
//   - "redlock hold": a hold, from its acquisition to its end, with a link to the call. Its parent is that of the
//     call as well, because the call is over. Failed renewals and jumps of clocks are events of it. A hold that ends
//     before its Unlock is an error. It is exported when it ends. For a role that is held for days, that is
//     days later.
//   - "redlock unlock": an Unlock. Its parent is the span in the context that Unlock was given.
//
// Work under the lock is beside them, under the span of the caller.
//
// # Metrics
//
// docs/OBSERVING.md of the lock lists them, with their attributes and units, and the alerts to
// begin with. grafana/redlock.json is a dashboard for them, as a Prometheus server has them.
//
// The name of a lock is an attribute of spans, but not of metrics: a metric is kept for each
// combination of its attributes, as long as the process lives, and programs make names of what they
// lock ("order:4711"). WithNames adds it where the names are few.
package redlockotel
