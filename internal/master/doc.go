// Package master speaks to one Redis server: its connections, the queue of requests and
// the batches in which they leave, whether the server can be used, what is asked past
// the queue, and a subscription. It takes operations (package script) and returns votes.
//
// It must not know locks, holds or the other masters: whether a request is still wanted
// is its Policy's matter, and whether a server may be used is the Gate's. It is the
// only package, but for those who make clients for it, that imports go-redis.
package master
