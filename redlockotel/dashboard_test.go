package redlockotel_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlockotel"
)

// measureAll lets an observer measure everything once, and returns the names of the metrics, with their attributes.
func measureAll(t *testing.T, reader *sdkmetric.ManualReader, more ...sdkmetric.Option) map[string][]string {
	t.Helper()
	meters := sdkmetric.NewMeterProvider(append(more, sdkmetric.WithReader(reader))...)
	o, err := redlockotel.NewObserver(redlockotel.WithMeterProvider(meters))
	must(t, err)
	ctx := o.Started(t.Context(), redlock.LockCall{Names: []string{"job"}})
	hold := redlock.Hold{Name: "job", Token: 1}
	o.AttemptFailed(ctx, redlock.FailedAttempt{Name: "job", Err: redlock.ErrHeld})
	o.Acquired(ctx, redlock.Acquisition{Hold: hold})
	o.Finished(ctx, redlock.LockResult{LockCall: redlock.LockCall{Names: []string{"job"}}})
	o.Renewed(ctx, redlock.Renewal{Hold: hold})
	o.RenewalFailed(ctx, redlock.FailedRenewal{Hold: hold, Err: redlock.ErrNoQuorum})
	o.ClockJumped(ctx, redlock.ClockJump{Hold: hold, Master: "10.0.0.1:6379", By: time.Second})
	o.Ended(ctx, redlock.HoldEnd{Hold: hold, Cause: redlock.ErrLost})
	o.Unlocked(ctx, redlock.UnlockResult{Names: []string{"job"}, Err: redlock.ErrLost})
	o.MasterCalled(redlock.MasterCall{Master: "10.0.0.1:6379", Err: errors.New("broken")})
	o.MasterUp(redlock.MasterStatus{Master: "10.0.0.1:6379"})
	o.NotAMember(redlock.MasterStatus{Master: "10.0.0.1:6379", Err: redlock.ErrNotMember})
	o.VersionLearned(redlock.TableVersion{Version: 1})
	var all metricdata.ResourceMetrics
	must(t, reader.Collect(t.Context(), &all))
	names := map[string][]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			names[m.Name] = nil
		}
	}
	return names
}

// word is what in a query may be a metric, a label, a function or a keyword.
var (
	word     = regexp.MustCompile(`\bredlock_[a-z_]+`)
	selected = regexp.MustCompile(`\{([^}]*)\}`)
	grouped  = regexp.MustCompile(`by \(([^)]*)\)`)
	label    = regexp.MustCompile(`[a-z_]+`)
)

// exported returns the metrics that a Prometheus server gets, as they are asked for, with their labels.
func exported(t *testing.T) map[string]map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	e, err := exporter.New(exporter.WithRegisterer(registry))
	must(t, err)
	measureAll(t, sdkmetric.NewManualReader(), sdkmetric.WithReader(e))
	families, err := registry.Gather()
	must(t, err)
	labels := map[string]map[string]bool{}
	for _, f := range families {
		of := map[string]bool{"job": true, "instance": true} // the server's own
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				of[l.GetName()] = true
			}
		}
		names := []string{f.GetName()}
		if len(f.GetMetric()) > 0 && f.GetMetric()[0].GetHistogram() != nil {
			of["le"] = true
			names = []string{f.GetName() + "_bucket", f.GetName() + "_sum", f.GetName() + "_count"}
		}
		for _, name := range names {
			labels[name] = of
		}
	}
	return labels
}

// metricsOf returns the metrics that a query asks for, and complains of those, and of labels, that there are not.
func metricsOf(t *testing.T, where, query string, labels map[string]map[string]bool) []string {
	t.Helper()
	metrics := word.FindAllString(selected.ReplaceAllString(grouped.ReplaceAllString(query, ""), ""), -1)
	if len(metrics) == 0 {
		t.Errorf("%s: no metric in %s", where, query)
	}
	var used []string
	for _, match := range selected.FindAllStringSubmatch(query, -1) {
		for part := range strings.SplitSeq(match[1], ",") {
			used = append(used, label.FindString(part))
		}
	}
	for _, match := range grouped.FindAllStringSubmatch(query, -1) {
		used = append(used, label.FindAllString(match[1], -1)...)
	}
	for _, name := range metrics {
		of := labels[name]
		if of == nil {
			t.Errorf("%s: there is no metric %s", where, name)
			continue
		}
		for _, l := range used {
			if !of[l] {
				t.Errorf("%s: %s has no label %s", where, name, l)
			}
		}
	}
	return metrics
}

// The alerts of docs/OBSERVING.md are about metrics that there are.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	labels := exported(t)
	page, err := os.ReadFile("../docs/OBSERVING.md")
	must(t, err)
	alerts := 0
	for line := range strings.Lines(string(page)) {
		for _, code := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(line, -1) {
			if strings.Contains(code[1], "redlock_") {
				alerts++
				metricsOf(t, "OBSERVING.md", code[1], labels)
			}
		}
	}
	if alerts < 5 {
		t.Errorf("%d alerts", alerts)
	}
}

// The queries of the dashboard ask for metrics and labels that a Prometheus server gets.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	labels := exported(t)
	text, err := os.ReadFile("grafana/redlock.json")
	must(t, err)
	var board struct {
		UID    string
		Title  string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct {
				Expr  string
				RefID string
			}
		}
	}
	must(t, json.Unmarshal(text, &board))
	asked, ids := map[string]bool{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 {
			t.Errorf("panel %d %q: its id is another's, or it has no title or place", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s: no query", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range metricsOf(t, p.Title, target.Expr, labels) {
				asked[name] = true
			}
		}
	}
	for name := range labels {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "redlock_") && !asked[base] && !asked[base+"_bucket"] && !asked[base+"_count"] && !asked[base+"_sum"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}
