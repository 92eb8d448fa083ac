package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/telemetry"
)

// Metrics counts what happens to the locks of a client, in the names that redlockotel has in
// Prometheus. docs/OBSERVING.md lists them, and the alerts to begin with. There are no names of
// locks in them.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	wait, acquisition, hold, unlock, call                     *prometheus.HistogramVec
	acquisitions, failures, losses, renewals, jumps, refusals *prometheus.CounterVec
	outages                                                   prometheus.Counter
	held, up                                                  *prometheus.GaugeVec
	version, sessions, waiting                                prometheus.Gauge
}

// The labels. One that is empty counts as one that is not there.
const (
	labelMode    = "redlock_lock_mode"
	labelOutcome = "redlock_call_outcome"
	labelEnd     = "redlock_hold_end"
	labelError   = "error_type"
	labelAddress = "server_address"
	labelPort    = "server_port"
)

// NewMetrics returns metrics of nothing yet. Give their Observer to the client.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	histogram := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
		registry.MustRegister(v)
		return v
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		registry.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		registry.MustRegister(v)
		return v
	}
	m := &Metrics{
		registry: registry,
		handler:  promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),

		wait:         histogram("redlock_wait_duration_seconds", "How long calls took that were to lock, until they had the lock or gave up.", telemetry.WaitBounds, labelMode, labelOutcome),
		acquisition:  histogram("redlock_acquisition_duration_seconds", "How long the attempts took that brought a lock, without what was waited before.", telemetry.TripBounds, labelMode),
		hold:         histogram("redlock_hold_duration_seconds", "How long locks were held.", telemetry.HoldBounds, labelMode, labelEnd),
		unlock:       histogram("redlock_unlock_duration_seconds", "How long Unlocks took.", telemetry.TripBounds, labelMode, labelError),
		call:         histogram("redlock_master_call_duration_seconds", "How long masters took to answer a batch of operations.", telemetry.TripBounds, labelAddress, labelPort, labelError),
		acquisitions: counter("redlock_acquisitions_total", "Calls that were to lock, by how they ended.", labelMode, labelOutcome),
		failures:     counter("redlock_failed_attempts_total", "Attempts that brought no lock, by why.", labelMode, labelError),
		losses:       counter("redlock_losses_total", "Holds that ended before their Unlock, by why.", labelMode, labelEnd),
		renewals:     counter("redlock_renewals_total", "Renewals of leases, with an error type those that failed.", labelMode, labelError),
		jumps:        counter("redlock_clock_jumps_total", "Jumps of masters' clocks.", labelAddress, labelPort),
		refusals:     counter("redlock_master_refusals_total", "How often a master was found that may not vote.", labelAddress, labelPort),
		outages:      counter("redlock_members_outages_total", "Members that did not vote for longer than they take to come back by themselves.").WithLabelValues(),
		held:         gauge("redlock_held", "Locks that are held by this process.", labelMode),
		up:           gauge("redlock_master_up", "Whether a master could be used when it was last tried: 1 or 0.", labelAddress, labelPort),
		version:      gauge("redlock_members_version", "The version of the table of members that the client goes by.").WithLabelValues(),
		sessions:     gauge("redlock_agent_sessions", "Sessions of programs.").WithLabelValues(),
		waiting:      gauge("redlock_agent_waiting", "Locks that programs wait for.").WithLabelValues(),
	}
	for _, reads := range []bool{false, true} { // what alerts count is there with 0 before it happens
		for _, end := range []error{redlock.ErrLost, redlock.ErrExpired} {
			m.losses.WithLabelValues(mode(reads), telemetry.ErrorType(end))
		}
		for _, reason := range []error{redlock.ErrNoQuorum, redlock.ErrNeedsInit, redlock.ErrDenied} {
			m.renewals.WithLabelValues(mode(reads), telemetry.ErrorType(reason))
			m.failures.WithLabelValues(mode(reads), telemetry.ErrorType(reason))
		}
	}
	return m
}

// Observer counts for the client that it is given to.
func (m *Metrics) Observer() redlock.Observer {
	return redlock.Observer{
		AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) {
			m.failures.WithLabelValues(mode(a.Reads), telemetry.ErrorType(a.Err)).Inc()
		},
		Finished: func(_ context.Context, r redlock.LockResult) {
			outcome := "acquired"
			if r.Err != nil {
				outcome = telemetry.ErrorType(r.Err)
			}
			m.acquisitions.WithLabelValues(mode(r.Reads), outcome).Inc()
			m.wait.WithLabelValues(mode(r.Reads), outcome).Observe(r.Took.Seconds())
		},
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			m.held.WithLabelValues(mode(a.Reads)).Inc()
			m.acquisition.WithLabelValues(mode(a.Reads)).Observe(a.Took.Seconds())
		},
		Renewed: func(_ context.Context, r redlock.Renewal) { m.renewals.WithLabelValues(mode(r.Reads), "").Inc() },
		RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) {
			m.renewals.WithLabelValues(mode(f.Reads), telemetry.ErrorType(f.Err)).Inc()
		},
		Ended: func(_ context.Context, e redlock.HoldEnd) {
			m.held.WithLabelValues(mode(e.Reads)).Dec()
			end := telemetry.ErrorType(e.Cause)
			m.hold.WithLabelValues(mode(e.Reads), end).Observe(e.Held.Seconds())
			if errors.Is(e.Cause, redlock.ErrLost) || errors.Is(e.Cause, redlock.ErrExpired) {
				m.losses.WithLabelValues(mode(e.Reads), end).Inc()
			}
		},
		Unlocked: func(_ context.Context, u redlock.UnlockResult) {
			m.unlock.WithLabelValues(mode(u.Reads), failure(u.Err)).Observe(u.Took.Seconds())
		},
		ClockJumped: func(_ context.Context, j redlock.ClockJump) { m.jumps.WithLabelValues(server(j.Master)...).Inc() },
		MasterCalled: func(c redlock.MasterCall) {
			m.call.WithLabelValues(append(server(c.Master), failure(c.Err))...).Observe(c.Took.Seconds())
		},
		MasterUp:       func(s redlock.MasterStatus) { m.master(s.Master, 1) },
		MasterDown:     func(s redlock.MasterStatus) { m.master(s.Master, 0) },
		NotAMember:     func(s redlock.MasterStatus) { m.refusals.WithLabelValues(server(s.Master)...).Inc() },
		MemberOut:      func(redlock.MasterStatus) { m.outages.Inc() },
		VersionLearned: func(t redlock.TableVersion) { m.version.Set(float64(t.Version)) },
	}
}

// master notes whether a master is up, and what may happen to it with 0.
func (m *Metrics) master(name string, up float64) {
	m.up.WithLabelValues(server(name)...).Set(up)
	m.jumps.WithLabelValues(server(name)...)
	m.refusals.WithLabelValues(server(name)...)
}

func mode(reads bool) string {
	if reads {
		return "read"
	}
	return "write"
}

// server is the labels of a master. A master behind a socket or Sentinel has no port.
func server(master string) []string {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return []string{master, ""}
	}
	return []string{host, port}
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return telemetry.ErrorType(err)
}

// metrics serves them.
func (a *Agent) metrics(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	sessions := len(a.sessions)
	a.mu.Unlock()
	m := a.config.Metrics
	m.sessions.Set(float64(sessions))
	m.waiting.Set(float64(a.waiting.Load()))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slow))
	m.handler.ServeHTTP(w, r)
}
