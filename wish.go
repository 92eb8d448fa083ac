package redlock

// WithContextRenewal makes the watchdog renew the lease only as long as the context that was
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
func WithContextRenewal() LockOption {
	return lockOption(func(l *lockConfig) { l.withCtx = true })
}
