package lease

import "context"

// wish is what an entry that is renewed with its context wants from its hold: that the hold is
// renewed until that context ends. For other entries, which want it until they are unlocked, it is nil.
type wish struct {
	unregister func() bool
	ended      bool // guarded by the hold's mu, as what follows
	dropped    bool
}

// wishUntil returns the wish of an entry with ctx.
func (h *Hold) wishUntil(ctx context.Context, withCtx bool) *wish {
	if !withCtx {
		return nil
	}
	w := new(wish)
	w.unregister = context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !w.dropped {
			w.ended = true
			h.ceased++
		}
	})
	return w
}

// stop ends the wait for the context.
func (w *wish) stop() {
	if w != nil {
		w.unregister()
	}
}

// drop takes a wish back, of an entry that is unlocked. The caller holds mu.
func (h *Hold) drop(w *wish) {
	if w == nil {
		return
	}
	w.dropped = true
	if w.ended {
		h.ceased--
	}
}

// renews reports whether the watchdog renews the hold. The caller holds mu.
func (h *Hold) renews() bool { return h.watchdog && h.depth > h.ceased }
