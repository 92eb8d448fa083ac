package lease

import "context"

// ctxRenewal is an entry's demand for renewal, which ends with a context. It is nil for an entry
// without Config.WithCtx: such an entry demands renewal until it is unlocked.
type ctxRenewal struct {
	stopWaiting func() bool // of context.AfterFunc
	ended       bool        // the context has ended; guarded by the hold's mu, like unlocked
	unlocked    bool        // the entry is unlocked: then the context does not count
}

// renewUntil returns an entry's ctxRenewal, which ends with ctx, or nil without withCtx.
func (h *Hold) renewUntil(ctx context.Context, withCtx bool) *ctxRenewal {
	if !withCtx {
		return nil
	}
	r := new(ctxRenewal)
	r.stopWaiting = context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !r.unlocked {
			r.ended = true
			h.entries.unrenewed++
		}
	})
	return r
}

// stop ends the wait for the end of the context.
func (r *ctxRenewal) stop() {
	if r != nil {
		r.stopWaiting()
	}
}

// unlocked notes that the entry of r is unlocked. The caller holds mu.
func (h *Hold) unlocked(r *ctxRenewal) {
	if r == nil {
		return
	}
	r.unlocked = true
	if r.ended {
		h.entries.unrenewed--
	}
}

// renews reports whether the watchdog renews the hold. The caller holds mu.
func (h *Hold) renews() bool { return h.Config.Watchdog && h.entries.depth > h.entries.unrenewed }
