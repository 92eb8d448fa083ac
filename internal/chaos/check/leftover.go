package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// leftover: a lock is soon free after its release, or after a failed attempt. It is a violation if a caller asks for
// one name and gets the answer that the name is held, although nobody has used the name for b.GiveBack. The rule
// applies while there is no fault. It also applies during a fault that leaves the caller an unhurt quorum without
// remains of earlier users. With such a quorum, one try gets the lock, and any other answer is a violation. The rule
// does not apply out of the fault model, or for b.Recovery afterwards, because a clock that was ahead may have kept
// remains for longer.
func leftover(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		since := a.from - b.GiveBack
		if a.to == never || a.set > 0 || a.depth != 1 || a.waits && a.err != history.ErrHeld || a.err == history.ErrCanceled ||
			since < 0 || !r.inModel(since, b.Recovery) || r.used(a, since, a.to, b) || r.copied(a, since) {
			continue
		}
		calm := r.calm(a.client, since, a.to, b) && r.calmAlone(a, since, a.to, b)
		if calm && !a.waits {
			v.Quiet++
		}
		beside := "there was no fault"
		if r.faulty(since, a.to) || a.err != history.ErrHeld {
			beside = "a quorum was unhurt"
		}
		switch {
		case a.held:
		case a.err == history.ErrHeld && (calm || !r.faulty(since, a.to)):
			v.violate(Leftover, a.to, "%s: %s got the answer at %s that it is held; nobody had it or asked for it since %s, and %s",
				a.name, a.client, seconds(a.to), seconds(since), beside)
		case a.err != history.ErrHeld && calm:
			v.violate(Leftover, a.to, "%s: %s tried to get it at %s and got: %s; nobody had it or asked for it since %s, and %s",
				a.name, a.client, seconds(a.from), a.err, seconds(since), beside)
		}
	}
}

// calmAlone reports whether the caller had an unhurt quorum even without the masters that may keep remains of earlier
// users of the name.
func (r *record) calmAlone(a *ask, since, to time.Duration, b Bounds) bool {
	return r.calmWithout(a.client, r.left(a, since, to, b), since, to, b)
}

// calmWithout reports whether the client had an unhurt quorum even without the masters in lacked.
func (r *record) calmWithout(client string, lacked fault.Masters, from, to time.Duration, b Bounds) bool {
	good, bad := r.unhurt(client, from, to, b)
	lacks := (good & lacked).Count()
	return good.Count()-lacks > bad.Count()+lacks
}

// left returns the masters that may keep remains of earlier users of the name, because a fault hurt these masters when
// a user acquired or released the name. Remains stay for their ttl after the user's last request has arrived.
func (r *record) left(a *ask, since, to time.Duration, b Bounds) (some fault.Masters) {
	for _, o := range r.asks {
		if o == a || o.name != a.name || o.from > to || a.reads && o.reads {
			continue
		}
		last := o.to
		if o.hold != nil {
			last = min(o.hold.freed, o.hold.died)
		}
		last += b.GiveBack
		for _, f := range r.faults {
			hurt, after := f.Hurts(o.client, b.Silent, b.Quarantine)
			if f.from <= last && (f.to == never || f.to+after >= o.from && max(last, f.to+b.GiveBack)+o.ttl >= since) {
				some |= hurt
			}
		}
	}
	return some
}

// faulty reports whether any fault was under way between from and to.
func (r *record) faulty(from, to time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f trouble) bool { return f.meets(from, to) })
}

// copied reports whether a late copy of an acquire may have been granted the lock after the lock's release. Then the
// masters keep, for the ttl of the acquire, a lock that no client has.
func (r *record) copied(a *ask, since time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f trouble) bool {
		return f.Kind == fault.LateCopy && slices.ContainsFunc(r.asks, func(o *ask) bool {
			return o.name == a.name && f.meets(o.from, o.to) && min(f.to, o.to)+f.Delay+o.ttl >= since && f.Clients.Has(o.client)
		})
	})
}

// used reports whether another caller held the name of the ask, or asked for it, between since and to. A holder that
// died uses the name until the end of its lease. A caller that died before it gave back the votes of a failed attempt
// uses the name for the attempt's ttl. If the ask is for reading, other readers do not count.
func (r *record) used(a *ask, since, to time.Duration, b Bounds) bool {
	for _, o := range r.asks {
		if o == a || o.name != a.name || o.from > to || a.reads && o.reads {
			continue
		}
		if o.to >= since || r.diedAsking(o, since, b) {
			return true
		}
	}
	for _, f := range r.forces[a.name] {
		if f.from <= to && (f.to >= since || f.to+b.Outlive >= since && (f.err != "" || r.beside(f))) {
			return true // an operator has the lock for a moment, and for longer on masters that the release does not reach
		}
	}
	for _, h := range r.holds[a.name] {
		over := h.freed
		if h.died != never {
			over = max(h.until, h.died)
		}
		if h != a.hold && h.held <= to && over >= since && !(a.reads && h.reads) {
			return true
		}
	}
	return false
}

// diedAsking reports whether a client died before it could give back the votes of its failed attempt o (this may take
// up to b.GiveBack after the attempt), so that masters may still have these votes at the given time.
func (r *record) diedAsking(o *ask, since time.Duration, b Bounds) bool {
	return !o.held && slices.ContainsFunc(r.deaths[o.client], func(died time.Duration) bool {
		return o.from <= died && died <= o.to+b.GiveBack && died+o.ttl >= since
	})
}
