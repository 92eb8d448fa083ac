// Package ask asks the masters: it sends a round, waits for its verdict, asks again while the
// members change, and tells as a Failure why there was no grant.
//
// It knows what package quorum decides and who the members are. It must not know what a hold is,
// how a lock is acquired or waited for, or public types.
package ask
