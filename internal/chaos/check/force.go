package check

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// force is one call by which an operator takes a lock from the holders that an inspection showed.
type force struct {
	shown []string // the owners that lose the lock
	named uint64   // the token of the holder that a quorum named, or 0
	from  time.Duration
	to    time.Duration // never: it has not ended
	token uint64        // 0: none was returned
	err   string
}

// putOut reports whether the shown holders have certainly lost the lock: the call returned a token, or the error that
// another holder has the lock.
func (f *force) putOut() bool { return f.token > 0 || f.err == history.ErrHeld }

func (p *parser) force(e history.Event, key callKey) {
	if e.Kind == history.ForceBegins {
		f := &force{shown: strings.Fields(e.Owners), named: e.Token, from: e.At, to: never}
		p.forcing[key] = f
		p.forces[e.Name] = append(p.forces[e.Name], f)
		return
	}
	f := p.forcing[key]
	if f == nil {
		p.broken(e, "no operator takes that lock")
		return
	}
	delete(p.forcing, key)
	f.to, f.token, f.err = e.At, e.Token, e.Err
}

// forcedOff adds each force to the holds that its inspection showed. It runs after all events, because a hold may be
// recorded after the force whose inspection showed it.
func (p *parser) forcedOff() {
	for name, forces := range p.forces {
		for _, f := range forces {
			if f.token > 0 {
				p.verdict.Forced++
			}
			for _, h := range p.holds[name] {
				if !slices.Contains(f.shown, h.owner) {
					continue
				}
				h.forces = append(h.forces, f)
				if f.token > 0 && h.held <= f.to && min(h.freed, h.died, h.until) >= f.from {
					p.verdict.ForcedOff++
				}
			}
		}
	}
}

// forcedFrom returns the beginning of the first force that may have taken the hold, or the constant never.
func (h *hold) forcedFrom(b Bounds) time.Duration {
	for _, f := range h.forces {
		if f.mayHaveTaken(h, b) {
			return f.from
		}
	}
	return never
}

// mayHaveTaken reports whether the force may have taken the hold. If putOut is true, the force took the hold. Otherwise
// the force took nothing if a quorum renewed the hold after the force and after its late requests.
func (f *force) mayHaveTaken(h *hold, b Bounds) bool {
	return f.putOut() || f.to == never || h.until <= f.to+h.ttl+b.Outlive
}

// forcedBefore reports whether an operator had begun, by the given time, to take the hold or another hold of its set.
func (r *record) forcedBefore(h *hold, at time.Duration, b Bounds) bool {
	return slices.ContainsFunc(r.with(h), func(o *hold) bool { return o.forcedFrom(b) <= at })
}

// beside reports whether another fault was under way when an operator took a lock.
func (r *record) beside(f *force) bool {
	return slices.ContainsFunc(r.faults, func(t trouble) bool { return t.Kind != fault.Force && t.meets(f.from, f.to) })
}
