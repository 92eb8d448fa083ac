package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// starvation: a caller that waits as long as the most patient callers gets the lock if others get it.
func starvation(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		to := min(a.to, r.horizon)
		took := to - a.from
		if a.waits && a.held && a.depth == 1 {
			v.LongestWait = max(v.LongestWait, took)
		}
		if !a.waits || a.held || a.depth != 1 || a.to == never || took < a.patience(b) ||
			r.stopped(a.client, a.from, to) || r.meets(history.OutOfModel, a.from, to) {
			continue
		}
		var o *hold
		if a.set == 0 { // in a set, the caller may have been waiting for another name
			o = r.overtook(a, b)
		}
		switch {
		case a.err == history.ErrHeld:
			v.violate(Starvation, to, "%s: %s waited for it from %s to %s, and got the answer at last that others hold it",
				a.name, a.client, seconds(a.from), seconds(a.to))
		case o != nil:
			v.violate(Starvation, to, "%s: %s waited for it from %s to %s, and got at last: %s; %s asked at %s and got it at %s",
				a.name, a.client, seconds(a.from), seconds(a.to), a.err, o.client, seconds(o.asked), seconds(o.held))
		}
	}
}

// patience returns how long the most patient callers wait: b.Patience for each name.
func (a *ask) patience(b Bounds) time.Duration { return b.Patience * time.Duration(max(1, a.set)) }

// overtook returns a hold that was requested after the given call for the same name, and acquired before this call
// ended, or nil. A hold that was acquired while the network kept the caller from a quorum does not count.
func (r *record) overtook(a *ask, b Bounds) *hold {
	members := r.membersAt(a.from).Masters
	for _, h := range r.holds[a.name] {
		if h.asked <= a.from || h.held >= a.to {
			continue
		}
		if missed := members & r.missed(a.client, h.asked, h.held, b, true); 2*missed.Count() < max(1, members.Count()) {
			return h
		}
	}
	return nil
}

// hung: every call ends, and no call takes longer than its bound. The calls of a killed client ended with the client.
// The bound counts anew after a stop of the client, and after a phase out of the fault model.
func hung(r *record, b Bounds, v *Verdict) {
	judge := func(client string, from, to, bound time.Duration, what, name string) {
		began := from
		for _, s := range r.excused(client) {
			if s.meets(began, min(to, r.horizon)) {
				began = min(s.to, to, r.horizon)
			}
		}
		took := min(to, r.horizon) - began
		if took > bound || to == never {
			v.violate(Starvation, min(to, r.horizon), "%s: the %s of %s at %s hangs: it took %s and more",
				name, what, client, seconds(from), seconds(took))
		}
	}
	for _, a := range r.asks {
		bound := b.Hung
		if a.waits {
			bound += a.patience(b)
		}
		judge(a.client, a.from, a.to, bound, "call", a.name)
	}
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			for _, e := range h.entries {
				if e.left != never {
					judge(h.client, e.left, min(e.freed, h.died), b.Hung, "unlock", name)
				}
			}
			for _, d := range h.downs {
				judge(h.client, d.from, min(d.to, h.died), b.Hung, "downgrade", name)
			}
		}
	}
	for _, at := range r.registers {
		for _, a := range r.accesses[at] {
			judge(a.client, a.from, a.to, b.Hung, "access", at.name)
		}
	}
}

// excused returns the spans in which calls of the client may take any time, in the order of the spans' ends.
func (r *record) excused(client string) []span {
	some := slices.Clone(r.stops[client])
	for _, p := range r.phases {
		if p.name == history.OutOfModel {
			some = append(some, p.span)
		}
	}
	slices.SortFunc(some, func(a, b span) int { return cmp.Compare(a.to, b.to) })
	return some
}

// recovery: after the end of all faults every name becomes lockable. The bound is b.Recovery after the first call for
// the name. It is a violation if a call for the name ends after the bound, before anybody has locked the name. A
// call that began after the bound and was canceled is not judged, because it got no answer. Calls for a set, and calls
// beside them, are not judged: a set may hold the name while it waits for another name. The rule starvation judges the
// set.
func recovery(r *record, b Bounds, v *Verdict) {
	for _, p := range r.phases {
		if p.name != history.Healed {
			continue
		}
		for _, name := range r.names {
			asked, first := r.relocked(name, p.from)
			if asked == never {
				continue
			}
			if first != never {
				v.LongestRelock = max(v.LongestRelock, first-asked)
			}
			bound := asked + b.Recovery // from the first call: only a call shortens a lock that a wrong clock made too long
			if first > bound && slices.ContainsFunc(r.asks, func(a *ask) bool {
				return a.name == name && a.set == 0 && bound <= a.to && a.to < first && (a.from <= bound || a.to != never && a.err != history.ErrCanceled) &&
					!r.askedBySet(name, max(a.from, bound), a.to)
			}) {
				v.violate(Recovery, bound, "%s: all faults ended at %s, it was asked for at %s, and nobody could lock it within %s",
					name, seconds(p.from), seconds(asked), b.Recovery)
			}
		}
	}
}

// relocked returns two times after the end of all faults: when the name was first asked for alone, and when the name
// was first locked. Each may be the constant never.
func (r *record) relocked(name string, healed time.Duration) (asked, first time.Duration) {
	asked, first = never, never
	for _, a := range r.asks {
		if a.name == name && a.set == 0 && a.depth == 1 && a.to >= healed {
			asked = min(asked, max(a.from, healed))
		}
	}
	for _, h := range r.holds[name] {
		if h.held >= healed {
			first = min(first, h.held)
		}
	}
	return asked, first
}

// askedBySet reports whether a client asked for a set with that name between from and to.
func (r *record) askedBySet(name string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.asks, func(o *ask) bool { return o.set > 0 && o.name == name && o.from <= to && o.to >= from })
}
