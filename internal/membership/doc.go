// Package membership knows who may vote. The masters of a deployment keep a small replicated
// register: a table of the members, under a version. Only a member that the table calls voting, and
// that has accepted the version that a request carries, executes it. docs/PROTOCOL.md has the
// rules.
//
// Table and its changes, what servers report, what is learned from that and what is to be done next
// are pure. Group asks the servers and does it; it is the masters' Gate.
//
// It must not know locks, holds or go-redis. It speaks to servers through package master.
package membership
