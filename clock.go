package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/planted"
)

// instant is a moment on this process's clock, in nanoseconds: on Linux since
// boot, counting the time the machine was suspended (clock_linux.go), elsewhere
// since the process started. Two instants of one process may be compared;
// nothing else may be done with them. No master's clock is ever read.
type instant int64

func (t instant) add(d time.Duration) instant { return t + instant(d) }
func (t instant) sub(u instant) time.Duration { return time.Duration(t - u) }
func (t instant) before(u instant) bool       { return t < u }
func (t instant) after(u instant) bool        { return t > u }

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
	t := terms{
		ttl:   ttl,
		delay: delay,
		drift: time.Duration(float64(ttl)*driftFactor) + driftBase,
	}
	if planted.Bug == planted.Drift {
		t.drift = 0
	}
	return t
}

// keyTTL is how long the masters keep the key.
func (t terms) keyTTL() time.Duration { return t.ttl + t.delay }

// validUntil returns until when a vote that was asked for at sent counts. It
// errs on the short side: the master's own count began later.
func (t terms) validUntil(sent instant) instant { return sent.add(t.ttl - t.drift) }

// minLeft is the validity that an acquisition must have left to succeed.
func (t terms) minLeft() time.Duration { return t.ttl / minValidity }

// expiry is when a key expires on its master, told on our clock: no earlier
// than lo, no later than hi, if the master's clock runs as ours does.
type expiry struct{ lo, hi instant }

// expiryAfter returns the expiry of a key that was given remaining at a moment
// between sent and got.
func expiryAfter(sent, got instant, remaining time.Duration) expiry {
	return expiry{lo: sent.add(remaining), hi: got.add(remaining)}
}

// atLeast is the later of two: of a key whose ttl only grows.
func (e expiry) atLeast(f expiry) expiry { return expiry{lo: max(e.lo, f.lo), hi: max(e.hi, f.hi)} }

// jump compares the remaining time that a master reported, for a request that
// it served between sent and got, with what it should be. It returns by how
// much the master's clock jumped beyond the allowance: positive when it went
// forward (less remains than should), negative when back, 0 when neither.
func (e expiry) jump(remaining time.Duration, sent, got instant, allowance time.Duration) time.Duration {
	least := e.lo.sub(got) - allowance
	most := e.hi.sub(sent) + allowance
	switch {
	case remaining < least:
		return least - remaining
	case remaining > most:
		return most - remaining
	}
	return 0
}
