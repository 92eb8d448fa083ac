package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// lost: while a renewed hold has an unhurt quorum, and no operator takes the lock, only an unlock ends the hold. The
// quorum must have been unhurt for a whole ttl before the end of the hold. A quorum is unhurt if the client reaches it,
// no fault hurts it, and no remains of other clients block it. A healthy hold without renewal ends no earlier than its
// lease. If one name of a set is lost, all names of the set are lost.
func lost(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			end, how := r.ended(h, b)
			if h.until <= h.held || end >= r.horizon {
				continue
			}
			since := end - h.ttl - b.Calm
			switch {
			case h.watched && r.calmFor(h, since, end, b):
				v.Calm++
				if how != "" {
					v.violate(Lost, end, "%s: the hold of %s %s was renewed, and %s at %s; a quorum was there for it and unhurt since %s",
						name, h.client, h.with(), how, seconds(end), seconds(since))
				}
			case !h.watched && how != "" && end < h.until-reading && r.healthy(h, end, end, b):
				v.violate(Lost, end, "%s: the lease of %s %s ended at %s, and %s at %s already; a quorum was there for it and unhurt since %s",
					name, h.client, h.with(), seconds(h.until), how, seconds(end), seconds(r.healthySince(h, end, b)))
			}
		}
	}
}

// reading is the allowance for two clocks that are not read at the same instant.
const reading = time.Millisecond

// ended returns when the hold ended, and a text about its loss. The text is "" if the client unlocked the hold or died.
func (r *record) ended(h *hold, b Bounds) (at time.Duration, how string) {
	switch {
	case h.lost < h.left:
		return min(h.lost, h.until), "its holder learned that it is over"
	case h.died != never:
		return h.died, ""
	case min(h.left, r.horizon) > h.until+b.Notice:
		return h.until, "its lease ended"
	case h.freed != never && (h.err == history.ErrLost || h.err == history.ErrExpired):
		return min(h.freed, h.until), "its unlock found it " + h.err
	}
	return h.left, ""
}

// healthy reports whether nothing excuses the loss of the hold between from and to: the fault model held, the client
// reached an unhurt quorum for the hold, and no operator took the lock. A hold that was renewed for a whole ttl is on
// all reachable masters. Any other hold may be on only a quorum, and which masters these are is not known. So all
// masters must have been unhurt since such a hold was asked for.
func (r *record) healthy(h *hold, from, to time.Duration, b Bounds) bool {
	since := r.healthySince(h, from, b)
	if _, bad := r.unhurt(h.client, since, to, b); bad != 0 && !h.renewedFor(h.ttl, from) {
		return false
	}
	return r.calmFor(h, since, to, b)
}

// healthySince returns since which time the masters must have been unhurt for the hold to be healthy at the given time.
func (r *record) healthySince(h *hold, at time.Duration, b Bounds) time.Duration {
	since := at - h.ttl
	if !h.renewedFor(h.ttl, at) {
		since = min(since, h.asked)
	}
	return since - b.Calm
}

// renewedFor reports whether the hold had been renewed for the given duration at the given time.
func (h *hold) renewedFor(long, before time.Duration) bool { return h.watched && h.held+long <= before }

// calmFor reports whether the client had an unhurt quorum for the hold between from and to, and no operator had begun
// to take the lock.
func (r *record) calmFor(h *hold, from, to time.Duration, b Bounds) bool {
	return !r.forcedBefore(h, to, b) && r.calm(h.client, from, to, b) && r.calmBeside(h, from, to, b)
}

// calm reports whether between from and to the fault model held, the client was not stopped and reached a quorum of
// members that no fault hurt, and the machine was not overloaded. A master that a change of the members added or
// removed meanwhile counts as a hurt member. Before the members were first recorded, calm returns false.
func (r *record) calm(client string, from, to time.Duration, b Bounds) bool {
	if !r.inModel(from, b.Recovery) || !r.inModel(to, b.Recovery) || r.meets(history.OutOfModel, from, to) || r.stopped(client, from, to) {
		return false
	}
	good, bad := r.unhurt(client, from, to, b)
	return good.Count() > bad.Count() && !r.busy(from, to, b)
}

// calmBeside reports whether the client had an unhurt quorum for the hold even without the masters that may keep
// remains of other clients. These masters are a minority at most, because the hold has a quorum. For a set, there must
// be such a quorum for each name.
func (r *record) calmBeside(h *hold, from, to time.Duration, b Bounds) bool {
	good, bad := r.unhurt(h.client, from, to, b)
	most := (good.Count() + bad.Count() - 1) / 2
	return !slices.ContainsFunc(r.with(h), func(h *hold) bool {
		lacks := min((good & r.leftovers(h, from, to, b)).Count(), most)
		return good.Count()-lacks <= bad.Count()+lacks
	})
}

// with returns all holds of the set of h, or only h if it is in no set.
func (r *record) with(h *hold) []*hold {
	if h.set == (callKey{}) {
		return []*hold{h}
	}
	var all []*hold
	for _, name := range r.names {
		for _, o := range r.holds[name] {
			if o.set == h.set {
				all = append(all, o)
			}
		}
	}
	return all
}

// unhurt returns the members that the client could rely on between from and to, and the other members.
func (r *record) unhurt(client string, from, to time.Duration, b Bounds) (good, bad fault.Masters) {
	known, unsettled := r.membersAt(from), fault.Masters(0)
	missed := r.missed(client, from, to, b, false)
	for _, f := range r.faults {
		if f.from <= to && f.to >= known.at {
			unsettled |= f.Unsettles()
		}
	}
	bad = (known.Masters | unsettled) & (missed | unsettled)
	return known.Masters &^ bad, bad
}

// leftovers returns the masters that may keep remains of other clients that tried to acquire h's name. A fault of the
// network hurt such a master when the other client gave back its votes. Remains stay for their ttl.
func (r *record) leftovers(h *hold, from, to time.Duration, b Bounds) (some fault.Masters) {
	for _, a := range r.asks {
		if a.name != h.name || a.client == h.client || a.from > to || a.to != never && a.to+a.ttl < from {
			continue
		}
		for _, f := range r.faults {
			if f.Clients == "" || f.from > to {
				continue
			}
			if hurt, after := f.Hurts(a.client, b.Silent, b.Quarantine); f.to == never || f.to+after >= a.from {
				some |= hurt
			}
		}
	}
	return some
}

// answered returns when a quorum last answered any client before the given time, or 0.
func (r *record) answered(before time.Duration) (last time.Duration) {
	for _, a := range r.asks {
		if (a.held || a.err == history.ErrHeld) && a.to <= before {
			last = max(last, a.to)
		}
	}
	return last
}

// missed returns the masters that the client could not rely on between from and to: the masters that are not in the
// client's list, and the masters that a fault hurt. If network is true, only faults of the network count. A change of
// the members hurts every master until all members were seen to vote, and after that only the masters of the change.
func (r *record) missed(client string, from, to time.Duration, b Bounds, network bool) (some fault.Masters) {
	for _, f := range r.faults {
		if network && f.Clients == "" {
			continue
		}
		hurt, after := f.Hurts(client, b.Silent, b.Quarantine)
		if own := f.Unsettles(); own != 0 && r.looked(f.to, from-b.Silent) {
			hurt = own
		}
		switch {
		case f.from > to:
		case f.to == never || f.to+after >= from:
			some |= hurt
		case after == b.Quarantine && r.votesAgain(f, b) >= from:
			some |= f.Masters | f.Spare
		}
	}
	if named, known := r.reach[client]; known {
		some |= ^named
	}
	return some
}

// votesAgain returns when the masters of a fault vote again after their quarantine. The quarantine begins anew if,
// before its end, another fault causes a quarantine or hurts one of these masters, because such a fault may change the
// members. When all members were seen to vote, the quarantine is over.
func (r *record) votesAgain(f trouble, b Bounds) time.Duration {
	until := f.to + b.Quarantine
	for _, o := range r.faults { // in the order in which they began
		_, after := o.Hurts("", b.Silent, b.Quarantine)
		switch {
		case o.from > until || o.to < f.to || after < b.Quarantine && o.Masters&f.Masters == 0 || r.looked(f.to+b.Silent, o.from):
		case o.to == never:
			return never
		default:
			until = max(until, o.to+b.Quarantine)
		}
	}
	return until
}

// membersAt returns the members that were recorded last, at the given time or before it.
func (r *record) membersAt(at time.Duration) (known membership) {
	for _, m := range r.members {
		if m.at <= at {
			known = m
		}
	}
	return known
}

// looked reports whether the members were recorded between from and to.
func (r *record) looked(from, to time.Duration) bool {
	return slices.ContainsFunc(r.members, func(m membership) bool { return from <= m.at && m.at <= to })
}
