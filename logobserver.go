package redlock

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
)

// LogObserver returns an Observer that logs:
//
//	Error   a hold that was lost or ran out before its Unlock
//	Warn    a call that found no quorum or was too slow; a renewal that failed; an Unlock that
//	        returned an error; a hold that was forgotten, or that Close had to release; a clock that
//	        jumped; a master that is down or may not vote; a member that does not come back
//	Info    a call that failed for another reason; a master that is up; members that changed
//	Debug   all else: acquired, renewed and released locks, attempts that failed, TryLocks
//	        that were refused, calls whose context ended, batches without an answer
//
// The attributes are lock (the name), token, mode ("read" or "write"), took, error, master and a
// few more. The slog.Handler gets the context of the event, and can find the trace in it.
//
// It panics if logger is nil.
func LogObserver(logger *slog.Logger) Observer {
	if logger == nil {
		panic("redlock: nil logger")
	}
	l := logs{logger}
	return Observer{
		AttemptFailed: func(ctx context.Context, a FailedAttempt) {
			l.log(ctx, slog.LevelDebug, "lock attempt failed", slog.String("lock", a.Name), modeText(a.Reads), slog.Duration("took", a.Took), reason(a.Err))
		},
		Finished: l.finished,
		Acquired: func(ctx context.Context, a Acquisition) {
			l.hold(ctx, slog.LevelDebug, "lock acquired", a.Hold, slog.Duration("took", a.Took))
		},
		Renewed: func(ctx context.Context, r Renewal) {
			l.hold(ctx, slog.LevelDebug, "lock renewed", r.Hold, slog.Duration("valid_for", r.ValidFor))
		},
		RenewalFailed: func(ctx context.Context, f FailedRenewal) {
			l.hold(ctx, slog.LevelWarn, "lock not renewed", f.Hold, slog.Duration("valid_for", f.ValidFor), reason(f.Err))
		},
		Forgotten: func(ctx context.Context, f ForgottenHold) {
			l.hold(ctx, slog.LevelWarn, "lock forgotten: no reference to its handle is left, and it was not unlocked", f.Hold, slog.Duration("held", f.Held))
		},
		Ended: func(ctx context.Context, e HoldEnd) {
			switch e.Cause {
			case ErrReleased:
				l.hold(ctx, slog.LevelDebug, "lock released", e.Hold, slog.Duration("held", e.Held), slog.Duration("taken_for", e.TakenFor))
			case ErrClosed:
				l.hold(ctx, slog.LevelWarn, "lock not unlocked, and released by Close", e.Hold, slog.Duration("held", e.Held), slog.Duration("taken_for", e.TakenFor))
			default:
				l.hold(ctx, slog.LevelError, "lock lost before its unlock", e.Hold, slog.Duration("held", e.Held), reason(e.Cause))
			}
		},
		Unlocked: func(ctx context.Context, u UnlockResult) {
			if u.Err != nil {
				l.log(ctx, slog.LevelWarn, "unlock failed", names(u.Names), modeText(u.Reads), slog.Duration("took", u.Took), reason(u.Err))
			}
		},
		ClockJumped: func(ctx context.Context, j ClockJump) {
			l.hold(ctx, slog.LevelWarn, "a master's clock jumped", j.Hold, slog.String("master", j.Master), slog.Duration("by", j.By))
		},
		MasterCalled: func(c MasterCall) {
			if c.Err != nil {
				l.log(context.Background(), slog.LevelDebug, "no answer from a master", slog.String("master", c.Master), slog.Int("operations", c.Operations), slog.Duration("took", c.Took), reason(c.Err))
			}
		},
		MasterDown: func(m MasterStatus) {
			l.log(context.Background(), slog.LevelWarn, "master down", slog.String("master", m.Master), reason(m.Err))
		},
		MasterUp: func(m MasterStatus) {
			l.log(context.Background(), slog.LevelInfo, "master up", slog.String("master", m.Master))
		},
		NotAMember: func(m MasterStatus) {
			l.log(context.Background(), slog.LevelWarn, "master may not vote", slog.String("master", m.Master), reason(m.Err))
		},
		MemberOut: func(m MasterStatus) {
			l.log(context.Background(), slog.LevelWarn, "member does not come back", slog.String("member", m.Master), reason(m.Err))
		},
		VersionLearned: func(t TableVersion) {
			l.log(context.Background(), slog.LevelInfo, "table of members learned", slog.Int("version", t.Version))
		},
		MemberChanged: func(m MemberTransition) {
			l.log(context.Background(), slog.LevelInfo, "member changed", slog.String("member", m.Address), slog.String("from", cmp.Or(string(m.From), "none")), slog.String("to", cmp.Or(string(m.To), "none")))
		},
	}
}

type logs struct{ *slog.Logger }

func (l logs) log(ctx context.Context, level slog.Level, message string, attrs ...slog.Attr) {
	l.LogAttrs(ctx, level, "redlock: "+message, attrs...)
}

func (l logs) hold(ctx context.Context, level slog.Level, message string, h Hold, attrs ...slog.Attr) {
	l.log(ctx, level, message, append([]slog.Attr{slog.String("lock", h.Name), slog.Uint64("token", uint64(h.Token)), modeText(h.Reads)}, attrs...)...)
}

func (l logs) finished(ctx context.Context, r LockResult) {
	level, message := slog.LevelDebug, "locked"
	switch {
	case r.Err == nil && r.ReEntry:
		message = "re-entered"
	case r.Err == nil:
	case errors.Is(r.Err, ErrNoQuorum), errors.Is(r.Err, ErrTooSlow):
		level, message = slog.LevelWarn, "not locked"
	case ctx.Err() == nil && (r.Waits || !errors.Is(r.Err, ErrHeld)):
		level, message = slog.LevelInfo, "not locked"
	default:
		message = "not locked"
	}
	attrs := []slog.Attr{names(r.Names), modeText(r.Reads), slog.Duration("took", r.Took), slog.Int("attempts", r.Attempts)}
	if r.Err != nil {
		attrs = append(attrs, reason(r.Err))
	}
	l.log(ctx, level, message, attrs...)
}

func names(all []string) slog.Attr {
	if len(all) == 1 {
		return slog.String("lock", all[0])
	}
	return slog.Any("locks", all)
}

func modeText(reads bool) slog.Attr {
	if reads {
		return slog.String("mode", "read")
	}
	return slog.String("mode", "write")
}

func reason(err error) slog.Attr { return slog.String("error", err.Error()) }
