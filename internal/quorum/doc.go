// Package quorum decides what the answers of masters to one question come to: whether a quorum has
// granted, or none can any more; which token the grants make; and for how long an answer counts. A
// Round asks the question, and collects the answers.
//
// It knows votes, the table of members, and masters to send requests to. It must not know holds,
// clients or names. All that decides is pure, without a lock, a clock or a goroutine.
package quorum
