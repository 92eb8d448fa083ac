package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// driftBase is the part of the drift allowance that does not grow with the
// ttl: a millisecond for the masters' resolution of expiry, and one for ours
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks).
const driftBase = 2 * time.Millisecond

// minValidity is the share of the ttl that an acquisition must have left when
// it is decided; with less, it was too slow to be worth a hold.
const minValidity = 10 // a tenth

// terms are what a lease was asked for.
type terms struct {
	ttl   time.Duration // how long the holder may believe in a vote, before drift
	delay time.Duration // how much longer the masters keep the key (lock delay)
	drift time.Duration // by how much a master's clock may outrun ours over the ttl
}

func termsOf(ttl, delay time.Duration, driftFactor float64) terms {
	return terms{
		ttl:   ttl,
		delay: delay,
		drift: time.Duration(float64(ttl)*driftFactor) + driftBase,
	}
}

// keyTTL is how long the masters keep the key.
func (t terms) keyTTL() time.Duration { return t.ttl + t.delay }

// validUntil returns until when a vote that was asked for at sent counts. It
// errs on the short side: the master's own count began later.
func (t terms) validUntil(sent clock.Instant) clock.Instant { return sent.Add(t.ttl - t.drift) }

// minLeft is the validity that an acquisition must have left to succeed.
func (t terms) minLeft() time.Duration { return t.ttl / minValidity }

// expiry is when a key expires on its master, told on our clock: no earlier
// than lo, no later than hi, if the master's clock runs as ours does.
type expiry struct{ lo, hi clock.Instant }

// expiryAfter returns the expiry of a key that was given remaining at a moment
// between sent and got.
func expiryAfter(sent, got clock.Instant, remaining time.Duration) expiry {
	return expiry{lo: sent.Add(remaining), hi: got.Add(remaining)}
}

// atLeast is the later of two: of a key whose ttl only grows.
func (e expiry) atLeast(f expiry) expiry { return expiry{lo: max(e.lo, f.lo), hi: max(e.hi, f.hi)} }

// jump compares the remaining time that a master reported, for a request that
// it served between sent and got, with what it should be. It returns by how
// much the master's clock jumped beyond the allowance: positive when it went
// forward (less remains than should), negative when back, 0 when neither.
func (e expiry) jump(remaining time.Duration, sent, got clock.Instant, allowance time.Duration) time.Duration {
	least := e.lo.Sub(got) - allowance
	most := e.hi.Sub(sent) + allowance
	switch {
	case remaining < least:
		return least - remaining
	case remaining > most:
		return most - remaining
	}
	return 0
}
