// Package membership decides which masters may vote, and brings in those that restarted
// or lost data: it is their Gate. A server says of itself what it is (hello) and what it
// has (Survey); MakePlan, which is pure, decides; Group asks the servers, and does what
// the plan says.
//
// It must not know locks or holds, nor go-redis: it speaks to servers by package master.
package membership
