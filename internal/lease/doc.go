// Package lease tells what each master granted to one owner, by version of the members, and until when a quorum proves that the owner holds
// the lock. A Lease is a value: it has no mutex, clock, goroutine or I/O. Every answer of a master goes in by one method, with the instants.
//
// It knows votes and what package quorum decides. It must not know holds, clients or names.
package lease
