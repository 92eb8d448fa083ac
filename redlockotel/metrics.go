package redlockotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlock-go/redlock"

	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/telemetry"
)

// metrics are the instruments. docs/OBSERVING.md lists them; a test compares.
type metrics struct {
	names func(string) string // nil: metrics do not have names

	waitTime       metric.Float64Histogram
	attemptTime    metric.Float64Histogram
	holdTime       metric.Float64Histogram
	unlockTime     metric.Float64Histogram
	callTime       metric.Float64Histogram
	acquisitions   metric.Int64Counter
	failedAttempts metric.Int64Counter
	losses         metric.Int64Counter
	renewals       metric.Int64Counter
	jumps          metric.Int64Counter
	refusals       metric.Int64Counter
	outages        metric.Int64Counter
	held           metric.Int64UpDownCounter
	up             metric.Int64Gauge
	version        metric.Int64Gauge
}

func newMetrics(m metric.Meter, names func(string) string) (*metrics, error) {
	var errs []error
	histogram := func(name, about string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		errs = append(errs, err)
		return c
	}
	gauge := func(name, unit, about string) metric.Int64Gauge {
		g, err := m.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(about))
		errs = append(errs, err)
		return g
	}
	all := &metrics{
		names:          names,
		waitTime:       histogram("redlock.wait.duration", "How long calls took that were to lock, until they had the lock or gave up.", telemetry.WaitBounds),
		attemptTime:    histogram("redlock.acquisition.duration", "How long the attempts took that brought a lock, without what was waited before.", telemetry.TripBounds),
		holdTime:       histogram("redlock.hold.duration", "How long locks were held.", telemetry.HoldBounds),
		unlockTime:     histogram("redlock.unlock.duration", "How long Unlocks took.", telemetry.TripBounds),
		callTime:       histogram("redlock.master.call.duration", "How long masters took to answer a batch of operations.", telemetry.TripBounds),
		acquisitions:   counter("redlock.acquisitions", "{acquisition}", "Calls that were to lock, by how they ended."),
		failedAttempts: counter("redlock.failed_attempts", "{attempt}", "Attempts that brought no lock, by why."),
		losses:         counter("redlock.losses", "{hold}", "Holds that ended before their Unlock, by why."),
		renewals:       counter("redlock.renewals", "{renewal}", "Renewals of leases, with an error type those that failed."),
		jumps:          counter("redlock.clock.jumps", "{jump}", "Jumps of masters' clocks."),
		refusals:       counter("redlock.master.refusals", "{refusal}", "How often a master was found that may not vote."),
		outages:        counter("redlock.members.outages", "{outage}", "Members that did not vote for longer than they take to come back by themselves."),
		up:             gauge("redlock.master.up", "{master}", "Whether a master could be used when it was last tried: 1 or 0."),
		version:        gauge("redlock.members.version", "{version}", "The version of the table of members that the client goes by."),
	}
	var err error
	all.held, err = m.Int64UpDownCounter("redlock.held", metric.WithUnit("{lock}"), metric.WithDescription("Locks that are held by this process."))
	if err := printable.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if names == nil {
		all.beginLock("", false)
		all.beginLock("", true)
	}
	return all, nil
}

func (m *metrics) observer() redlock.Observer {
	background := context.Background()
	return redlock.Observer{
		AttemptFailed: func(ctx context.Context, a redlock.FailedAttempt) {
			m.beginName(a.Name, a.Reads)
			m.failedAttempts.Add(ctx, 1, m.of(a.Name, a.Reads, errorKey.String(telemetry.ErrorType(a.Err))))
		},
		Finished: func(ctx context.Context, r redlock.LockResult) {
			attrs := m.of(r.Names[0], r.Reads, outcome(r))
			m.acquisitions.Add(ctx, 1, attrs)
			m.waitTime.Record(ctx, r.Took.Seconds(), attrs)
		},
		Acquired: func(ctx context.Context, a redlock.Acquisition) {
			m.beginName(a.Name, a.Reads)
			attrs := m.of(a.Name, a.Reads)
			m.held.Add(ctx, 1, attrs)
			m.attemptTime.Record(ctx, a.Took.Seconds(), attrs)
		},
		Renewed: func(ctx context.Context, r redlock.Renewal) { m.renewals.Add(ctx, 1, m.of(r.Name, r.Reads)) },
		RenewalFailed: func(ctx context.Context, f redlock.FailedRenewal) {
			m.renewals.Add(ctx, 1, m.of(f.Name, f.Reads, errorKey.String(telemetry.ErrorType(f.Err))))
		},
		Ended: func(ctx context.Context, e redlock.HoldEnd) {
			m.held.Add(ctx, -1, m.of(e.Name, e.Reads))
			cause := causeKey.String(telemetry.ErrorType(e.Cause))
			m.holdTime.Record(ctx, e.Held.Seconds(), m.of(e.Name, e.Reads, cause))
			if lost(e.Cause) {
				m.losses.Add(ctx, 1, m.of(e.Name, e.Reads, cause))
			}
		},
		Unlocked: func(ctx context.Context, u redlock.UnlockResult) {
			m.unlockTime.Record(ctx, u.Took.Seconds(), m.of(u.Names[0], u.Reads, failure(u.Err)...))
		},
		ClockJumped: func(ctx context.Context, j redlock.ClockJump) {
			m.jumps.Add(ctx, 1, metric.WithAttributes(server(j.Master)...))
		},
		MasterCalled: func(c redlock.MasterCall) {
			m.callTime.Record(background, c.Took.Seconds(), metric.WithAttributes(append(server(c.Master), failure(c.Err)...)...))
		},
		MasterUp:   func(s redlock.MasterStatus) { m.master(s.Master, 1) },
		MasterDown: func(s redlock.MasterStatus) { m.master(s.Master, 0) },
		NotAMember: func(s redlock.MasterStatus) {
			m.refusals.Add(background, 1, metric.WithAttributes(server(s.Master)...))
		},
		MemberOut: func(redlock.MasterStatus) { m.outages.Add(background, 1) },
		VersionLearned: func(t redlock.TableVersion) {
			m.version.Record(background, int64(t.Version))
			m.outages.Add(background, 0) // see beginLock
		},
	}
}

// beginLock adds 0 to the counters of what may happen to a lock and an alert asks for. Else they
// would begin with their first count, which Prometheus' increase() does not see.
func (m *metrics) beginLock(name string, reads bool) {
	background := context.Background()
	for _, end := range []error{redlock.ErrLost, redlock.ErrExpired} {
		m.losses.Add(background, 0, m.of(name, reads, causeKey.String(telemetry.ErrorType(end))))
	}
	for _, reason := range []error{redlock.ErrNoQuorum, redlock.ErrNeedsInit, redlock.ErrDenied} {
		attrs := m.of(name, reads, errorKey.String(telemetry.ErrorType(reason)))
		m.renewals.Add(background, 0, attrs)
		m.failedAttempts.Add(background, 0, attrs)
	}
}

// beginName is beginLock for metrics with names, which are not known before a lock is asked for.
func (m *metrics) beginName(name string, reads bool) {
	if m.names != nil {
		m.beginLock(name, reads)
	}
}

// master records whether a master is up, and adds 0 to the counters of what may happen to it, as
// beginLock does.
func (m *metrics) master(name string, up int64) {
	background := context.Background()
	attrs := metric.WithAttributes(server(name)...)
	m.up.Record(background, up, attrs)
	m.jumps.Add(background, 0, attrs)
	m.refusals.Add(background, 0, attrs)
}

// of returns the attributes of what is measured of a lock.
func (m *metrics) of(name string, reads bool, more ...attribute.KeyValue) metric.MeasurementOption {
	attrs := append([]attribute.KeyValue{mode(reads)}, more...)
	if m.names != nil {
		attrs = append(attrs, nameKey.String(m.names(name)))
	}
	return metric.WithAttributes(attrs...)
}

// failure is nothing if there was none.
func failure(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	return []attribute.KeyValue{errorKey.String(telemetry.ErrorType(err))}
}

// lost reports that a hold ended before its Unlock.
func lost(cause error) bool {
	return errors.Is(cause, redlock.ErrLost) || errors.Is(cause, redlock.ErrExpired)
}
