package redlock

import "context"

// RenewWithContext makes the watchdog renew the lease only as long as the context that was
// given to Lock has not ended. Use it in request handlers: otherwise a handler that
// returns without Unlock blocks the name for as long as the process lives.
//
// When that context ends, Lock.Context ends with its cause, as always, and no further renewal
// begins. Unless it is unlocked before, the hold is over at the end of the lease (Until), with
// ErrExpired, and the masters free the name within the ttl plus lock delay. An Unlock before that
// frees the name at once; an Unlock after it returns ErrExpired. Extend makes the lease longer once.
//
// The watchdog renews a hold as long as at least one of its handles that are not unlocked wants that.
// So each entry counts by itself: a re-entry without the option, or with a context that lives on
// (context.WithoutCancel), keeps the renewal going. Given to LockAll, the option counts for all names.
// It changes nothing for a lease WithoutWatchdog.
//
// With a context that never ends, the renewal never ends: see WithMaxHold.
func RenewWithContext() LockOption {
	return lockOption(func(l *lockConfig) { l.withCtx = true })
}

// wish is what a handle with RenewWithContext wants from its hold: that the hold is
// renewed until the handle's context ends. For other handles, which want it until
// their Unlock, it is nil.
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
