package agent

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/telemetry"
)

// Metrics counts the events of a client's locks. In Prometheus, each metric has the same name as the metric
// of redlockotel for the same events. docs/OBSERVING.md lists the names, and some alerts to begin with. No
// metric contains the name of a lock.
type Metrics struct {
	handler           http.Handler
	observer          redlock.Observer
	sessions, waiting prometheus.Gauge
}

// NewMetrics returns Metrics at zero. Pass their Observer to the client.
func NewMetrics() *Metrics {
	m := &Metrics{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Name: "redlock_agent_sessions", Help: "Sessions of programs."}),
		waiting:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "redlock_agent_waiting", Help: "Locks that programs wait for."}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.sessions, m.waiting)
	underscored := strings.NewReplacer(".", "_").Replace
	records := map[*telemetry.Instrument]func(value float64, labels []string){}
	for _, i := range telemetry.Instruments {
		name := underscored(i.Name)
		var labels []string // for Prometheus, an empty label is a missing one
		for _, label := range i.Labels {
			labels = append(labels, underscored(label))
		}
		switch i.Kind {
		case telemetry.Histogram:
			v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name + "_seconds", Help: i.About, Buckets: i.Bounds}, labels)
			registry.MustRegister(v)
			records[i] = func(value float64, labels []string) { v.WithLabelValues(labels...).Observe(value) }
		case telemetry.Counter:
			v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name + "_total", Help: i.About}, labels)
			registry.MustRegister(v)
			records[i] = func(value float64, labels []string) { v.WithLabelValues(labels...).Add(value) }
		case telemetry.UpDown, telemetry.Gauge:
			v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: i.About}, labels)
			registry.MustRegister(v)
			set := func(value float64, labels []string) { v.WithLabelValues(labels...).Set(value) }
			if i.Kind == telemetry.UpDown {
				set = func(value float64, labels []string) { v.WithLabelValues(labels...).Add(value) }
			}
			records[i] = set
		}
	}
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	m.observer = telemetry.Observer(func(_ context.Context, i *telemetry.Instrument, value float64, _ string, values ...string) {
		records[i](value, values)
	}, false)
	return m
}

// Observer returns the redlock.Observer that counts the events. Give it to the client of the Agent.
func (m *Metrics) Observer() redlock.Observer { return m.observer }

// metrics handles /metrics.
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
