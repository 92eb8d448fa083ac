package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// canceled: the context of an entry is cancelled only when its client ends. It is a violation if the client gets
// another lock after such a cancellation.
func canceled(r *record, _ Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			for _, e := range h.entries {
				if e.over == never || e.ended != history.ErrCanceled {
					continue
				}
				if a := r.gotAfter(h.client, e.over); a != nil {
					v.violate(Notified, e.over, "%s: the context of entry %d of the hold of %s %s was cancelled at %s, and nothing had ended it: its client asked for %s at %s, and got it",
						name, e.depth, h.client, h.with(), seconds(e.over), a.name, seconds(a.from))
				}
			}
		}
	}
}

// gotAfter returns the first later ask by which the client got a fresh lock, or nil if the client died before that.
func (r *record) gotAfter(client string, at time.Duration) *ask {
	for _, a := range r.asks {
		if a.client != client || a.from <= at {
			continue
		}
		if slices.ContainsFunc(r.deaths[client], func(died time.Duration) bool { return at <= died && died <= a.from }) {
			return nil
		}
		if a.held && a.depth == 1 {
			return a
		}
	}
	return nil
}
