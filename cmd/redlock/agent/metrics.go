package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/telemetry"
)

// Metrics counts what happens to the locks of a client, in the names that redlockotel has in
// Prometheus. docs/OBSERVING.md lists them, and the alerts to begin with. There are no names of
// locks in them.
type Metrics struct {
	mu       sync.Mutex
	families map[string]*family
}

// family is the series of one name.
type family struct {
	kind   string // "counter", "gauge" or "histogram"
	about  string
	bounds []float64
	series map[string]*series // by their labels, as they are printed
}

type series struct {
	value   float64 // of a histogram, the sum
	buckets []uint64
	count   uint64
}

// NewMetrics returns metrics of nothing yet. Give their Observer to the client.
func NewMetrics() *Metrics {
	m := &Metrics{families: map[string]*family{
		"redlock_wait_duration_seconds":        {kind: "histogram", bounds: telemetry.WaitBounds, about: "How long calls took that were to lock, until they had the lock or gave up."},
		"redlock_acquisition_duration_seconds": {kind: "histogram", bounds: telemetry.TripBounds, about: "How long the attempts took that brought a lock, without what was waited before."},
		"redlock_hold_duration_seconds":        {kind: "histogram", bounds: telemetry.HoldBounds, about: "How long locks were held."},
		"redlock_unlock_duration_seconds":      {kind: "histogram", bounds: telemetry.TripBounds, about: "How long Unlocks took."},
		"redlock_master_call_duration_seconds": {kind: "histogram", bounds: telemetry.TripBounds, about: "How long masters took to answer a batch of operations."},
		"redlock_acquisitions_total":           {kind: "counter", about: "Calls that were to lock, by how they ended."},
		"redlock_failed_attempts_total":        {kind: "counter", about: "Attempts that brought no lock, by why."},
		"redlock_losses_total":                 {kind: "counter", about: "Holds that ended before their Unlock, by why."},
		"redlock_renewals_total":               {kind: "counter", about: "Renewals of leases, with an error type those that failed."},
		"redlock_clock_jumps_total":            {kind: "counter", about: "Jumps of masters' clocks."},
		"redlock_master_refusals_total":        {kind: "counter", about: "How often a master was found that may not vote."},
		"redlock_held":                         {kind: "gauge", about: "Locks that are held by this process."},
		"redlock_master_up":                    {kind: "gauge", about: "Whether a master could be used when it was last tried: 1 or 0."},
		"redlock_members_version":              {kind: "gauge", about: "The version of the table of members that the client goes by."},
		"redlock_members_outages_total":        {kind: "counter", about: "Members that did not vote for longer than they take to come back by themselves."},
		"redlock_agent_sessions":               {kind: "gauge", about: "Sessions of programs."},
		"redlock_agent_waiting":                {kind: "gauge", about: "Locks that programs wait for."},
	}}
	m.add("redlock_members_outages_total", 0, "")
	for _, reads := range []bool{false, true} { // what alerts count is there with 0 before it happens
		for _, end := range []error{redlock.ErrLost, redlock.ErrExpired} {
			m.add("redlock_losses_total", 0, mode(reads), "redlock_hold_end", telemetry.ErrorType(end))
		}
		for _, reason := range []error{redlock.ErrNoQuorum, redlock.ErrNeedsInit, redlock.ErrDenied} {
			m.add("redlock_renewals_total", 0, mode(reads), "error_type", telemetry.ErrorType(reason))
			m.add("redlock_failed_attempts_total", 0, mode(reads), "error_type", telemetry.ErrorType(reason))
		}
	}
	return m
}

// Observer counts for the client that it is given to.
func (m *Metrics) Observer() redlock.Observer {
	return redlock.Observer{
		AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) {
			m.add("redlock_failed_attempts_total", 1, mode(a.Reads), "error_type", telemetry.ErrorType(a.Err))
		},
		Finished: func(_ context.Context, r redlock.LockResult) {
			outcome := "acquired"
			if r.Err != nil {
				outcome = telemetry.ErrorType(r.Err)
			}
			m.add("redlock_acquisitions_total", 1, mode(r.Reads), "redlock_call_outcome", outcome)
			m.observe("redlock_wait_duration_seconds", r.Took, mode(r.Reads), "redlock_call_outcome", outcome)
		},
		Acquired: func(_ context.Context, a redlock.Acquisition) {
			m.add("redlock_held", 1, mode(a.Reads))
			m.observe("redlock_acquisition_duration_seconds", a.Took, mode(a.Reads))
		},
		Renewed: func(_ context.Context, r redlock.Renewal) { m.add("redlock_renewals_total", 1, mode(r.Reads)) },
		RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) {
			m.add("redlock_renewals_total", 1, mode(f.Reads), "error_type", telemetry.ErrorType(f.Err))
		},
		Ended: func(_ context.Context, e redlock.HoldEnd) {
			m.add("redlock_held", -1, mode(e.Reads))
			end := telemetry.ErrorType(e.Cause)
			m.observe("redlock_hold_duration_seconds", e.Held, mode(e.Reads), "redlock_hold_end", end)
			if errors.Is(e.Cause, redlock.ErrLost) || errors.Is(e.Cause, redlock.ErrExpired) {
				m.add("redlock_losses_total", 1, mode(e.Reads), "redlock_hold_end", end)
			}
		},
		Unlocked: func(_ context.Context, u redlock.UnlockResult) {
			m.observe("redlock_unlock_duration_seconds", u.Took, mode(u.Reads), failure(u.Err)...)
		},
		ClockJumped: func(_ context.Context, j redlock.ClockJump) { m.add("redlock_clock_jumps_total", 1, server(j.Master)) },
		MasterCalled: func(c redlock.MasterCall) {
			m.observe("redlock_master_call_duration_seconds", c.Took, server(c.Master), failure(c.Err)...)
		},
		MasterUp:       func(s redlock.MasterStatus) { m.master(s.Master, 1) },
		MasterDown:     func(s redlock.MasterStatus) { m.master(s.Master, 0) },
		NotAMember:     func(s redlock.MasterStatus) { m.add("redlock_master_refusals_total", 1, server(s.Master)) },
		MemberOut:      func(redlock.MasterStatus) { m.add("redlock_members_outages_total", 1, "") },
		VersionLearned: func(t redlock.TableVersion) { m.set("redlock_members_version", float64(t.Version), "") },
	}
}

// master notes whether a master is up, and what may happen to it with 0.
func (m *Metrics) master(name string, up float64) {
	m.set("redlock_master_up", up, server(name))
	m.add("redlock_clock_jumps_total", 0, server(name))
	m.add("redlock_master_refusals_total", 0, server(name))
}

func mode(reads bool) string {
	if reads {
		return label("redlock_lock_mode", "read")
	}
	return label("redlock_lock_mode", "write")
}

// server is the labels of a master. One behind a socket or Sentinel has no port.
func server(master string) string {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return label("server_address", master)
	}
	return label("server_address", host) + "," + label("server_port", port)
}

func failure(err error) []string {
	if err == nil {
		return nil
	}
	return []string{"error_type", telemetry.ErrorType(err)}
}

// label is one label, as it is printed.
func label(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// of returns the series with these labels. The caller holds m.mu.
func (m *Metrics) of(name, labels string, more []string) (*family, *series) {
	for i := 0; i < len(more); i += 2 {
		labels += "," + label(more[i], more[i+1])
	}
	f := m.families[name]
	if f.series == nil {
		f.series = map[string]*series{}
	}
	s := f.series[labels]
	if s == nil {
		s = &series{buckets: make([]uint64, len(f.bounds))}
		f.series[labels] = s
	}
	return f, s
}

func (m *Metrics) add(name string, n float64, labels string, more ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, s := m.of(name, labels, more)
	s.value += n
}

func (m *Metrics) set(name string, value float64, labels string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, s := m.of(name, labels, nil)
	s.value = value
}

func (m *Metrics) observe(name string, took time.Duration, labels string, more ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, s := m.of(name, labels, more)
	s.value += took.Seconds()
	s.count++
	for i, bound := range f.bounds {
		if took.Seconds() <= bound {
			s.buckets[i]++
		}
	}
}

// text is all of it, in the text format of Prometheus.
func (m *Metrics) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	line := func(name, labels, value string) {
		if labels != "" {
			labels = "{" + labels + "}"
		}
		fmt.Fprintf(&b, "%s%s %s\n", name, labels, value)
	}
	for _, name := range slices.Sorted(maps.Keys(m.families)) {
		f := m.families[name]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, f.about, name, f.kind)
		for _, labels := range slices.Sorted(maps.Keys(f.series)) {
			s := f.series[labels]
			if f.kind != "histogram" {
				line(name, labels, number(s.value))
				continue
			}
			for i, bound := range f.bounds {
				line(name+"_bucket", labels+","+label("le", number(bound)), strconv.FormatUint(s.buckets[i], 10))
			}
			line(name+"_bucket", labels+`,le="+Inf"`, strconv.FormatUint(s.count, 10))
			line(name+"_sum", labels, number(s.value))
			line(name+"_count", labels, strconv.FormatUint(s.count, 10))
		}
	}
	return b.String()
}

// metrics serves them.
func (a *Agent) metrics(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	sessions := len(a.sessions)
	a.mu.Unlock()
	m := a.config.Metrics
	m.set("redlock_agent_sessions", float64(sessions), "")
	m.set("redlock_agent_waiting", float64(a.waiting.Load()), "")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slow))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(m.text())) // whoever asked asks again
}
