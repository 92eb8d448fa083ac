package check

import (
	"cmp"
	"slices"
)

// tokens: each is new, and above all that were had before it was asked for.
func tokens(r *record, _ Bounds, v *Verdict) {
	for _, name := range r.names {
		seen := map[uint64]*hold{}
		for _, h := range r.holds[name] {
			if twin := seen[h.token]; twin != nil {
				v.violate(Tokens, h.held, "%s: token %d was had by %s at %s, and again by %s at %s",
					name, h.token, twin.client, seconds(twin.held), h.client, seconds(h.held))
			}
			seen[h.token] = h
		}

		byAsked := slices.SortedFunc(slices.Values(r.holds[name]), func(a, b *hold) int { return cmp.Compare(a.asked, b.asked) })
		var highest *hold // of those had before
		before := 0
		for _, h := range byAsked {
			for ; before < len(r.holds[name]) && r.holds[name][before].held < h.asked; before++ {
				if o := r.holds[name][before]; highest == nil || o.token > highest.token {
					highest = o
				}
			}
			if highest != nil && h.token <= highest.token {
				v.violate(Tokens, h.held, "%s: %s asked at %s and got token %d, but %s had got %d at %s already",
					name, h.client, seconds(h.asked), h.token, highest.client, highest.token, seconds(highest.held))
			}
		}
	}
}
