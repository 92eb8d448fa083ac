package check

import (
	"slices"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// forced: when an operator takes a lock, the operator's token is above the tokens of the holders that lose the lock,
// and of all holders that acquired the name before. The token is below the tokens of all holders that ask after the
// operator's call. In the fault model, the leases of the old holders end within their ttl after that call. An old
// holder that is renewed, and reaches an unhurt quorum, notices the loss at its next renewal.
func forced(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for i, f := range r.forces[name] {
			if f.token > 0 {
				forcedTokens(r, name, i, v)
			}
			if f.putOut() {
				forcedHolders(r, name, f, b, v)
			}
		}
	}
}

// forcedTokens judges the token of one operator's call: the i-th force for a name.
func forcedTokens(r *record, name string, i int, v *Verdict) {
	f := r.forces[name][i]
	if f.token <= f.named {
		v.violate(Forced, f.to, "%s: an operator took it at %s with token %d, and that of the holder that was shown is %d",
			name, seconds(f.from), f.token, f.named)
	}
	for _, g := range r.forces[name][:i] {
		if g.token > 0 && g.to < f.from && f.token <= g.token {
			v.violate(Forced, f.to, "%s: an operator took it at %s with token %d, and another one had got %d at %s already",
				name, seconds(f.from), f.token, g.token, seconds(g.to))
		}
	}
	for _, h := range r.holds[name] {
		known := h.token
		if h.reads {
			known = h.last
		}
		switch {
		case h.held < f.from && f.token <= known:
			v.violate(Forced, f.to, "%s: an operator took it at %s with token %d, but %s knew of %d at %s already",
				name, seconds(f.from), f.token, h.client, known, seconds(h.held))
		case h.asked > f.to && (known < f.token || known == f.token && !h.reads):
			v.violate(Forced, h.held, "%s: %s asked at %s and has token %d, but an operator had got %d at %s already",
				name, h.client, seconds(h.asked), known, f.token, seconds(f.to))
		}
	}
}

// The watchdog's rounds in a ttl.
const (
	renewals = 3  // while a quorum renews the hold
	retries  = 12 // while no quorum renews the hold
)

// forcedHolders judges the holders that certainly lost the lock to an operator. After the operator's call, every quorum
// includes a master that refuses the hold. The last vote of that master for the hold was requested before the call
// ended. So the lease ends within its ttl after the call. The lease may last that long if the holder is cut off from a
// quorum, or if the answers to its renewals get lost.
func forcedHolders(r *record, name string, f *force, b Bounds, v *Verdict) {
	for _, h := range r.holds[name] {
		if !slices.Contains(h.forces, f) {
			continue
		}
		over := f.to + h.ttl
		if last := min(over, r.horizon); !r.inModel(f.from, b.Recovery) || !r.inModel(last, b.Recovery) || r.meets(history.OutOfModel, f.from, last) {
			continue
		}
		by, why := over, "its lease had to be over"
		soon := f.to + h.ttl/renewals + h.ttl/retries + b.Silent
		if h.watched && soon < over && r.calm(h.client, f.from-h.ttl-b.Calm, min(soon, r.horizon), b) {
			by, why = soon, "its next renewal reached a quorum"
		}
		by += b.Notice
		switch end := h.workEnd(); {
		case h.until > over:
			v.violate(Forced, over, "%s: an operator took it at %s from %s, who had it %s, and whose lease was renewed to %s",
				name, seconds(f.to), h.client, h.with(), seconds(h.until))
		case by < r.horizon && h.held <= by && end > by && !r.stopped(h.client, f.to, by):
			v.violate(Forced, by, "%s: an operator took it at %s from %s, who had it %s, and did not notice until %s; %s",
				name, seconds(f.to), h.client, h.with(), seconds(end), why)
		case f.token > 0 && f.token <= h.token:
			v.violate(Forced, f.to, "%s: an operator took it at %s with token %d from %s, who had it %s",
				name, seconds(f.from), f.token, h.client, h.with())
		}
	}
}
