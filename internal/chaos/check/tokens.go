package check

import (
	"cmp"
	"slices"
	"time"
)

// tokens: each token is unique, and above all tokens that clients got before the call for this
// token began. Readers have no token, but a last token, which is not below any earlier writer's
// token, and is below every later writer's token.
func tokens(r *record, _ Bounds, v *Verdict) {
	for _, name := range r.names {
		seen := map[uint64]*hold{}
		for _, h := range r.holds[name] {
			if h.reads {
				continue
			}
			if twin := seen[h.token]; twin != nil {
				v.violate(Tokens, h.held, "%s: token %d was had by %s at %s, and again by %s at %s",
					name, h.token, twin.client, seconds(twin.held), h.client, seconds(h.held))
			}
			seen[h.token] = h
		}
		tokensGrow(r.holds[name], v)
	}
	for _, a := range r.asks {
		if !a.held || a.hold == nil {
			continue
		}
		if token := a.hold.tokenAt(a.from); token != a.token {
			v.violate(Tokens, a.to, "%s: %s got token %d at %s with entry %d, and that of its hold is %d",
				a.name, a.client, a.token, seconds(a.to), a.depth, token)
		}
	}
}

// tokensGrow judges the holds of one name. byHeld must be in the order of the field held.
func tokensGrow(byHeld []*hold, v *Verdict) {
	byAsked := slices.SortedFunc(slices.Values(byHeld), func(a, b *hold) int { return cmp.Compare(a.asked, b.asked) })
	var writer, reader *hold // the earlier writer with the highest token, and the earlier reader with the highest last token
	before := 0
	for _, h := range byAsked {
		for ; before < len(byHeld) && byHeld[before].held < h.asked; before++ {
			switch o := byHeld[before]; {
			case o.reads && (reader == nil || o.last > reader.last):
				reader = o
			case !o.reads && (writer == nil || o.token > writer.token):
				writer = o
			}
		}
		switch {
		case h.reads && writer != nil && h.last < writer.token:
			v.violate(Tokens, h.held, "%s: %s asked to read at %s and got token %d as the last, but %s had got %d at %s already",
				h.name, h.client, seconds(h.asked), h.last, writer.client, writer.token, seconds(writer.held))
		case h.reads:
		case writer != nil && h.token <= writer.token:
			v.violate(Tokens, h.held, "%s: %s asked at %s and got token %d, but %s had got %d at %s already",
				h.name, h.client, seconds(h.asked), h.token, writer.client, writer.token, seconds(writer.held))
		case reader != nil && h.token <= reader.last:
			v.violate(Tokens, h.held, "%s: %s asked at %s and got token %d, but %s, who read, had got %d as the last at %s already",
				h.name, h.client, seconds(h.asked), h.token, reader.client, reader.last, seconds(reader.held))
		}
	}
}

// tokenAt returns the token of an entry that is asked for at the given time.
func (h *hold) tokenAt(at time.Duration) uint64 {
	if h.reads || h.down <= at {
		return 0
	}
	return h.token
}
