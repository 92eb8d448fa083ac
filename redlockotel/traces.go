package redlockotel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/telemetry"
)

type traces struct{ tracer trace.Tracer }

// call has the spans of one call. The call's context carries the struct, with the *traces as the key: with
// redlock.Observers, all observers get the context of the last Started, which may have calls or spans of others too.
type call struct {
	parent context.Context // the caller's
	span   trace.Span

	mu    sync.Mutex
	holds map[redlock.Hold]*hold // not yet ended
}

type hold struct {
	span     trace.Span
	renewals int
}

func (t *traces) observer() redlock.Observer {
	return redlock.Observer{
		Started:       t.started,
		AttemptFailed: t.attemptFailed,
		Finished:      t.finished,
		Acquired:      t.acquired,
		Renewed: func(ctx context.Context, r redlock.Renewal) {
			t.inHold(ctx, r.Hold, func(h *hold) { h.renewals++ })
		},
		RenewalFailed: func(ctx context.Context, f redlock.FailedRenewal) {
			t.inHold(ctx, f.Hold, func(h *hold) {
				h.span.AddEvent("redlock.renewal.failed", trace.WithAttributes(errorKey.String(telemetry.ErrorType(f.Err)), messageKey.String(f.Err.Error())))
			})
		},
		ClockJumped: func(ctx context.Context, j redlock.ClockJump) {
			t.inHold(ctx, j.Hold, func(h *hold) {
				h.span.AddEvent("redlock.clock.jumped", trace.WithAttributes(append(server(j.Master), jumpKey.String(j.By.String()))...))
			})
		},
		Ended:    t.ended,
		Unlocked: t.unlocked,
	}
}

func (t *traces) started(ctx context.Context, l redlock.LockCall) context.Context {
	attrs := []attribute.KeyValue{mode(l.Reads), waitsKey.Bool(l.Waits), names(l.Names, l.Set)}
	if l.Slots > 0 {
		attrs = append(attrs, slotsKey.Int(l.Slots))
	}
	spanned, span := t.tracer.Start(ctx, spanName(l), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	return context.WithValue(spanned, t, &call{parent: ctx, span: span, holds: map[redlock.Hold]*hold{}})
}

func names(all []string, set bool) attribute.KeyValue {
	if set {
		return namesKey.StringSlice(all)
	}
	return nameKey.String(all[0])
}

func spanName(l redlock.LockCall) string {
	name := "lock"
	if l.Set {
		name = "lock_all"
	}
	if l.Reads {
		name = "read_" + name
	}
	if !l.Waits {
		name = "try_" + name
	}
	return "redlock " + name
}

func (t *traces) attemptFailed(ctx context.Context, a redlock.FailedAttempt) {
	t.callIn(ctx).span.AddEvent("redlock.attempt.failed",
		trace.WithAttributes(nameKey.String(a.Name), errorKey.String(telemetry.ErrorType(a.Err)), messageKey.String(a.Err.Error())))
}

func (t *traces) finished(ctx context.Context, r redlock.LockResult) {
	span := t.callIn(ctx).span
	span.SetAttributes(outcomeKey.String(telemetry.OutcomeOf(r)), attemptsKey.Int(r.Attempts))
	if r.Err != nil && (r.Waits || telemetry.ErrorType(r.Err) != "held") {
		fail(span, r.Err)
	}
	span.End()
}

func fail(span trace.Span, err error) {
	span.SetAttributes(errorKey.String(telemetry.ErrorType(err)))
	span.SetStatus(codes.Error, err.Error())
}

func (t *traces) acquired(ctx context.Context, a redlock.Acquisition) {
	c := t.callIn(ctx)
	attrs := []attribute.KeyValue{nameKey.String(a.Name), mode(a.Reads)}
	if !a.Reads {
		attrs = append(attrs, tokenKey.Int64(int64(a.Token)))
	}
	if a.Slot > 0 {
		attrs = append(attrs, slotKey.Int(a.Slot))
	}
	_, span := t.tracer.Start(c.parent, "redlock hold", trace.WithLinks(trace.Link{SpanContext: c.span.SpanContext()}), trace.WithAttributes(attrs...))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[a.Hold] = &hold{span: span}
}

func (t *traces) ended(ctx context.Context, e redlock.HoldEnd) {
	t.inHold(ctx, e.Hold, func(h *hold) {
		h.span.SetAttributes(causeKey.String(telemetry.ErrorType(e.Cause)), renewalsKey.Int(h.renewals))
		if telemetry.Lost(e.Cause) {
			fail(h.span, e.Cause)
		}
		h.span.End()
		delete(t.callIn(ctx).holds, e.Hold)
	})
}

// unlocked makes the span of an Unlock that has returned.
func (t *traces) unlocked(ctx context.Context, u redlock.UnlockResult) {
	_, span := t.tracer.Start(ctx, "redlock unlock", trace.WithTimestamp(time.Now().Add(-u.Took)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(mode(u.Reads), names(u.Names, u.Set)))
	if u.Err != nil {
		fail(span, u.Err)
	}
	span.End()
}

func (t *traces) callIn(ctx context.Context) *call { return ctx.Value(t).(*call) }

// inHold passes the hold to do(). It does nothing if the hold has ended: some events come after the end.
func (t *traces) inHold(ctx context.Context, of redlock.Hold, do func(*hold)) {
	c := t.callIn(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.holds[of]; h != nil {
		do(h)
	}
}
