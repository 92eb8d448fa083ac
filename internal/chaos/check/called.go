package check

import (
	"slices"
	"time"
)

// called: a waiter misses no call. When the last hold of a name is unlocked, and a waiter has stood
// in line for it, somebody gets the name soon. Who waits in vain for a call asks by itself only
// much later, or at the end of the lease. Which waiter gets the name is not judged: masters that a
// fault hurts may have another order.
//
// Masters that somebody cannot rely on, or on which somebody may have left the name, are a minority
// together. Left out is what a history does not tell: what a set has that waits for another of its
// names, what somebody had who died, and what is left of a hold whose unlock failed. So are the
// names that an operator takes. No caller of a run lets a lock linger (WithHoldAtLeast), of which a
// history does not tell either.
func called(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			a := r.waiterFor(h, b)
			if a == nil {
				continue
			}
			v.Called++
			if by := a.comesBy(h, b); !r.gotBetween(name, h.left, by) {
				v.violate(Starvation, by, "%s: %s unlocked it at %s, %s had waited for it since %s, and nobody got it by %s; a quorum was unhurt",
					name, h.client, seconds(h.freed), a.client, seconds(a.from), seconds(by))
			}
		}
	}
}

// What PROTOCOL.md allows a waiter.
const (
	// standBy is how long it leaves a free lock to one before it, who was called and does not come.
	standBy = 250 * time.Millisecond

	// A waiter whose calls were in vain before pauses for a second at most. One that fewer masters
	// than a quorum refused asks by itself once in a sixth of its ttl, within these bounds.
	soonest, latest = time.Second, 5 * time.Second
	asksInTTL       = 6

	// keepsPlaces is the longest pause of any other. That it asks then keeps its places in the
	// queues, and takes those that it did not get beside a fault.
	keepsPlaces = 20 * time.Second
)

// comesBy returns when somebody must have the name of h, if a waits for it when h is unlocked.
func (a *ask) comesBy(h *hold, b Bounds) time.Duration {
	return h.freed + standBy + min(max(a.ttl/asksInTTL, soonest), latest) + b.GiveBack + b.Told
}

// waiterFor returns a caller who stood in line for the name of h when its unlock began, and goes on
// waiting for as long as it may take, or gets it. What was before it asked for the last time does
// not matter. It is nil if there is none, or if nobody knows whether it is called.
func (r *record) waiterFor(h *hold, b Bounds) *ask {
	if h.freed == never {
		return nil
	}
	for _, a := range r.asks {
		if a.name != h.name || !a.waits || a.depth != 1 || a.from+b.GiveBack > h.left || a.to < h.left {
			continue
		}
		since, by := max(a.from, h.left-keepsPlaces-b.GiveBack)-b.GiveBack, a.comesBy(h, b)
		if by < r.horizon && (a.held || a.to > by) && r.lastOf(h, since, by) && r.calmInLine(a, since, by, b) {
			return a
		}
	}
	return nil
}

// lastOf reports whether h is the last of the holds of its name that began before its unlock, and
// nothing is left of them after it. The lease of one that died, or failed to unlock, may have been
// longer than its holder knew, by a ttl.
func (r *record) lastOf(h *hold, since, by time.Duration) bool {
	if r.forcedBetween(h.name, since-h.ttl, by) || r.askedBySet(h.name, since, by) {
		return false
	}
	return !slices.ContainsFunc(r.holds[h.name], func(o *hold) bool {
		over := min(o.freed, o.died)
		clean := o.died == never && o.err == "" && over <= h.freed
		return o.held <= h.left && !clean && max(over, o.until) >= since-o.ttl
	})
}

// calmInLine reports whether all who ask for the name of a, for all that time, have the same
// majority of the masters, which no fault hurts, and on which nobody has left the name.
func (r *record) calmInLine(a *ask, since, by time.Duration, b Bounds) bool {
	bad := r.left(a, since, by, b) | r.copiedTo(a, since)
	known := map[string]bool{}
	for _, o := range r.asks {
		switch {
		case o.name != a.name || o.from > by:
		case r.diedAsking(o, since, b):
			return false
		case o.to >= since && !known[o.client]:
			known[o.client] = true
			_, hurt := r.unhurt(o.client, since, by, b)
			if bad |= hurt; !r.calm(o.client, since, by, b) {
				return false
			}
		}
	}
	return r.calmWithout(a.client, bad, since, by, b)
}

// gotBetween reports whether somebody got the name between.
func (r *record) gotBetween(name string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.holds[name], func(o *hold) bool { return from <= o.held && o.held <= to })
}
