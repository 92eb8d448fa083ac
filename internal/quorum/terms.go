package quorum

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// driftBase is the part of the drift allowance that does not grow with the ttl: 1 ms for the
// resolution of expiry on the masters, and 1 ms for the resolution here
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks).
const driftBase = 2 * time.Millisecond

// An acquisition must have ttl/minValidity left when it is decided. With less, it has failed.
const minValidity = 10 // a tenth

// Terms are the times of a lease.
type Terms struct {
	TTL   time.Duration // how long a vote counts for the holder, if clocks did not drift
	Delay time.Duration // how much longer the masters keep the key (lock delay)
	Drift time.Duration // by how much a master's clock may outrun ours over the ttl
}

// TermsOf returns the terms with a drift of ttl * driftFactor + driftBase.
func TermsOf(ttl, delay time.Duration, driftFactor float64) Terms {
	return Terms{TTL: ttl, Delay: delay, Drift: time.Duration(float64(ttl)*driftFactor) + driftBase}
}

// KeyTTL is how long the masters keep the key.
func (t Terms) KeyTTL() time.Duration { return t.TTL + t.Delay }

// ValidUntil returns the time until which a vote counts, if its request was sent at the given time.
// The ttl on the master begins after that time, so the result is never too late.
func (t Terms) ValidUntil(sent clock.Instant) clock.Instant { return sent.Add(t.TTL - t.Drift) }

// MinLeft is the time that an acquisition must have left to succeed.
func (t Terms) MinLeft() time.Duration { return t.TTL / minValidity }

// LongestGiven is the longest ttl with which a release grants the lock to a waiter. If the client
// of this waiter is stopped, the other waiters wait until this ttl is over.
const LongestGiven = time.Second

// Given returns the terms of a grant by a release.
func (t Terms) Given(driftFactor float64) Terms {
	return TermsOf(min(t.TTL, LongestGiven), t.Delay, driftFactor)
}

// OfferLife is how long, by our clock, a release may grant the lock after a master's answer: half of
// the ttl by the master's clock. A later grant would count for too short a time.
func (t Terms) OfferLife() time.Duration { return t.TTL/2 + t.Drift }

// LingerTTL returns the ttl, by the master's clock, of a key that must last at least as long as a
// given time by our clock.
func LingerTTL(left time.Duration, drift float64) time.Duration {
	ttl := time.Duration(float64(left+driftBase) / (1 - drift))
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

// LongestLinger returns the longest time by our clock for which LingerTTL is at most maxTTL.
func LongestLinger(maxTTL time.Duration, drift float64) time.Duration {
	const rounding = time.Millisecond
	return (time.Duration(float64(maxTTL)*(1-drift)) - driftBase - rounding).Truncate(time.Millisecond)
}

// Expiry is when a key expires on its master, in our clock's time: between Lo and Hi, if the
// master's clock runs as fast as ours.
type Expiry struct{ Lo, Hi clock.Instant }

// ExpiryAfter returns the expiry of a key whose ttl was set at a time between sent and got.
func ExpiryAfter(sent, got clock.Instant, remaining time.Duration) Expiry {
	return Expiry{Lo: sent.Add(remaining), Hi: got.Add(remaining)}
}

// AtLeast returns the later of two expiries, for a key whose ttl only grows.
func (e Expiry) AtLeast(f Expiry) Expiry { return Expiry{Lo: max(e.Lo, f.Lo), Hi: max(e.Hi, f.Hi)} }

// Jump compares the remaining time in a master's reply with the expected time. The master served the request
// between sent and got. Jump returns by how much the master's clock jumped beyond the allowance. The result is
// positive if the clock went forward (less remains than expected), negative if it went back, and otherwise 0.
func (e Expiry) Jump(remaining time.Duration, sent, got clock.Instant, allowance time.Duration) time.Duration {
	least := e.Lo.Sub(got) - allowance
	most := e.Hi.Sub(sent) + allowance
	switch {
	case remaining < least:
		return least - remaining
	case remaining > most:
		return most - remaining
	}
	return 0
}
