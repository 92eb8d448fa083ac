// Package master speaks to one Redis server. It has the connections, the queue of requests, and the
// batches in which they leave. It tracks whether the server can be used, sends some commands past
// the queue, and keeps a subscription. It takes operations (package script) and returns votes.
//
// It must not know locks, holds or the other masters. Whether a request is still wanted is decided
// by its Policy. Whether a server may be used is decided by the Gate. No other package imports
// go-redis, except for the files that make Redis clients for this one.
package master
