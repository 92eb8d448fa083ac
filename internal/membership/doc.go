// Package membership decides which masters may vote, and admits again those that
// restarted or lost data. It is the Gate of the masters. A server says what it is
// (hello) and what it has (Survey). MakePlan decides, and is pure. Group asks the
// servers, and does what the plan says.
//
// It must not know locks, holds or go-redis. It speaks to servers through package
// master.
package membership
