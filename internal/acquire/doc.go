// Package acquire gets locks: one attempt at all masters, attempts that are repeated while a caller
// waits in line for its name, at several names at once, at one of several slots, re-entry into a
// hold, and taking a lock from others by force.
//
// What it gets is an entry into a hold, or a set of holds: package lease. It knows how masters are
// asked (package ask) and how callers of one client queue (package waitqueue). It must not know how
// options are given or checked, or public types.
package acquire
