// Package lease tells what a lock is once it is acquired, until it is over.
//
// A Lease is a value: what each master granted to one owner, by version of the members, and until
// when a quorum proves that the owner holds the lock. It has no mutex, clock, goroutine or I/O.
// Every answer of a master goes in by one method, with the instants.
//
// Around it is the Hold, with a timer, contexts and entries: renewal, re-entry, release, linger and
// downgrade. A Hold never waits for a master. It asks, and returns the round, or takes the answers
// when they come. It knows what package quorum decides, and of its client what Client, Observer and
// Set say. It must not know how a lock is acquired or waited for, options, or public types.
package lease
