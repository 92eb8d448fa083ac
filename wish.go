package redlock

import "context"

// RenewWithContext makes the watchdog renew the lease only as long as the context that was
// given to Lock has not ended. It is for handlers of requests: one that returns without
// Unlock would else block the name for as long as the process lives.
//
// When that context ends, so does Lock.Context, as always, with its cause. No renewal begins
// any more. The hold is over at the end of the lease (Until), with ErrExpired, unless it is
// unlocked before, and the masters free the name within the ttl plus lock delay. So Unlock frees
// the name at once before that, and returns ErrExpired after it. Extend makes the lease longer once.
//
// A hold is renewed as long as one of its handles that are not unlocked wants it. So each entry
// counts by itself: a re-entry without the option, or with a context that lives on
// (context.WithoutCancel), has the hold renewed. Given to LockAll, it counts for all names. It changes
// nothing for a lease WithoutWatchdog.
//
// A context that never ends renews for ever: see WithMaxHold.
func RenewWithContext() LockOption {
	return lockOption(func(l *lockConfig) { l.withCtx = true })
}

// wish is what a handle of RenewWithContext wants of its hold: to be renewed until its
// context ends. Of other handles, which want it until their Unlock, it is nil.
type wish struct {
	unregister func() bool
	ended      bool // guarded by the hold's mu, as what follows
	dropped    bool
}

// wishUntil returns the wish of a handle that was entered with ctx.
func (h *hold) wishUntil(ctx context.Context, withCtx bool) *wish {
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

// drop takes a wish back, of a handle that is unlocked. The caller holds mu.
func (h *hold) drop(w *wish) {
	if w == nil {
		return
	}
	w.dropped = true
	if w.ended {
		h.ceased--
	}
}

// renews reports whether the watchdog renews the hold. The caller holds mu.
func (h *hold) renews() bool { return h.watchdog && h.depth > h.ceased }
