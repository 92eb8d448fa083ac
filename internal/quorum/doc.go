// Package quorum decides what the answers of masters to one question come to: whether a quorum has granted, or none can any more;
// which token the grants make; and for how long an answer counts.
//
// It knows votes and the table of members. It must not know holds, clients or names: it has no lock, no clock and no goroutine, and every
// function in it is pure.
package quorum
