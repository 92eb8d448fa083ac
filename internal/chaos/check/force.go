package check

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// force is one call by which an operator takes a lock from whoever an inspection showed.
type force struct {
	shown []string // the owners that it takes it from
	named uint64   // the token of the holder that a quorum named; 0: it named none
	from  time.Duration
	to    time.Duration // never: it has not ended
	token uint64        // 0: none was returned
	err   string
}

// putOut reports whether those that were shown are out for certain: a token says so, and so does an
// error that another has the lock.
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

// forcedOff finds the holds of those that were shown. One may have been had after it was shown.
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

// forcedFrom returns when the first operator began to take the lock from the hold, of those who may
// have done it: never, if there is none.
func (h *hold) forcedFrom(b Bounds) time.Duration {
	for _, f := range h.forces {
		if f.mayHaveTaken(h, b) {
			return f.from
		}
	}
	return never
}

// mayHaveTaken reports whether the lease that its holder knows of may have been granted before the
// force was over, and with it all that it left under way. A quorum that renewed the hold later
// still had it: then the force took nothing, if nobody was put out for certain.
func (f *force) mayHaveTaken(h *hold, b Bounds) bool {
	return f.putOut() || f.to == never || h.until <= f.to+h.ttl+b.Outlive
}

// forcedBefore reports whether an operator began before then to take from the hold the lock, or
// another one of those that it is held with.
func (r *record) forcedBefore(h *hold, at time.Duration, b Bounds) bool {
	return slices.ContainsFunc(r.with(h), func(o *hold) bool { return o.forcedFrom(b) <= at })
}

// beside reports whether another fault was under way when an operator took a lock.
func (r *record) beside(f *force) bool {
	return slices.ContainsFunc(r.faults, func(t trouble) bool { return t.Kind != fault.Force && t.meets(f.from, f.to) })
}
