package redlockotel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/redlockotel"
)

// eventful runs a client, with an observer of these options, through all events that the dashboard and the alerts show:
// refusals, renewals, a clock jump, lost data, dead masters, lost holds, calls without a quorum. It calls atRest when
// holds exist and nothing has failed. It calls afterwards at the end.
func eventful(t *testing.T, opts []redlockotel.Option, atRest, afterwards func(*testing.T, *telemetry)) {
	t.Helper()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		first, second := d.Masters[0].(harness.EmbeddedMaster), d.Masters[1].(harness.EmbeddedMaster)
		for i, m := range d.Masters {
			d.Masters[i] = harness.Named{Master: m, Address: fmt.Sprintf("10.0.0.%d:6379", i+1)}
		}
		s := newTelemetry(t)
		c := d.Client(redlock.WithObserver(s.observer(opts...)))
		lock, err := c.Lock(t.Context(), "job", redlock.WithTTL(30*time.Second))
		harness.Must(t, err)
		reading, err := c.RLock(t.Context(), "rates")
		harness.Must(t, err)
		synctest.Wait()
		atRest(t, s)

		_, err = c.TryLock(t.Context(), "job")
		harness.RequireErr(t, err, redlock.ErrHeld)
		first.SetClock(5 * time.Second)
		time.Sleep(15 * time.Second) // a renewal
		second.Kill(true)
		second.Revive()
		time.Sleep(15 * time.Second)
		harness.All(d.Masters[1:], harness.Master.Die)
		<-lock.Context().Done()
		<-reading.Context().Done()
		time.Sleep(3 * time.Minute) // the lock expires on the remaining master, and the other members are reported as out
		_, err = c.TryLock(t.Context(), "job")
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		harness.RequireErr(t, lock.Unlock(t.Context()), redlock.ErrExpired)
		harness.RequireErr(t, reading.Unlock(t.Context()), redlock.ErrExpired)
		synctest.Wait()
		afterwards(t, s)
	})
}

var (
	metricName  = regexp.MustCompile(`\bredlock_[a-z_]+`)
	selector    = regexp.MustCompile(`\{([^}]*)\}`)
	matcher     = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
	aggregation = regexp.MustCompile(`\b(?:sum|min|max|count|avg)(?: by \(([^)]*)\))? ?\(`)
	label       = regexp.MustCompile(`[a-z_]+`)
	legendField = regexp.MustCompile(`\{\{([^}]*)\}\}`)
)

// series is a series of a Prometheus server.
type series struct {
	metric string
	labels map[string]string
	value  float64
}

// gather returns all series, with a server's labels. The value of a bucket or count is the number of measurements.
func gather(t *testing.T, registry *prometheus.Registry) (all []series) {
	t.Helper()
	families, err := registry.Gather()
	harness.Must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{"job": "job", "instance": "instance"}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			h := m.GetHistogram()
			if h == nil {
				all = append(all, series{f.GetName(), labels, m.GetCounter().GetValue() + m.GetGauge().GetValue()})
				continue
			}
			bucket := maps.Clone(labels)
			bucket["le"] = "+Inf"
			all = append(all,
				series{f.GetName() + "_bucket", bucket, float64(h.GetSampleCount())},
				series{f.GetName() + "_count", labels, float64(h.GetSampleCount())},
				series{f.GetName() + "_sum", labels, h.GetSampleSum()})
		}
	}
	return all
}

// metricsOf returns the names of the metrics in a query.
func metricsOf(query string) []string {
	return metricName.FindAllString(selector.ReplaceAllString(aggregation.ReplaceAllString(query, ""), ""), -1)
}

// selects returns the series of a metric that a query selects.
func selects(all []series, metric, query string) (found []series) {
	query = strings.NewReplacer("$job", ".*", "$instance", ".*").Replace(query)
	var matchers [][]string
	if within := selector.FindStringSubmatch(query); within != nil {
		matchers = matcher.FindAllStringSubmatch(within[1], -1)
	}
	for _, s := range all {
		refused := func(m []string) bool { return !matches(s.labels[m[1]], m[2], m[3]) }
		if s.metric == metric && !slices.ContainsFunc(matchers, refused) {
			found = append(found, s)
		}
	}
	return found
}

func matches(value, operator, with string) bool {
	same := value == with
	if strings.Contains(operator, "~") {
		same = regexp.MustCompile("^(?:" + with + ")$").MatchString(value)
	}
	return same != strings.HasPrefix(operator, "!")
}

// alerts returns the expressions of the Prometheus rules, by their names in docs/OBSERVING.md.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	harness.Must(t, err)
	all := map[string]string{}
	for _, rule := range regexp.MustCompile(`(?m)^        expr: (.*)\n(?:        (?:for|labels): .*\n)+        annotations: \{summary: (.*)\}$`).FindAllStringSubmatch(string(text), -1) {
		all[rule[2]] = rule[1]
	}
	return all
}

// board is what the tests read of the dashboard's file.
type board struct {
	Templating struct {
		List []struct{ Query json.RawMessage }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile("grafana/redlock.json")
	harness.Must(t, err)
	harness.Must(t, json.Unmarshal(text, &b))
	return b
}

// The queries of dashboard and alerts match the measured series and labels. Each metric has a panel, and a row
// in docs/OBSERVING.md.
func TestQueriesMatchMetrics(t *testing.T) {
	queries := alerts(t)
	for name, query := range queries {
		for _, by := range aggregation.FindAllStringSubmatch(query, -1) {
			if !slices.Contains(label.FindAllString(by[1], -1), "job") {
				t.Errorf("%s: it puts the deployments of all jobs together: %s", name, query)
			}
		}
	}
	shown := map[string]bool{}
	for _, p := range readBoard(t).Panels {
		for _, target := range p.Targets {
			queries[p.Title+": "+target.Expr] = target.Expr
			for _, metric := range metricsOf(target.Expr) {
				shown[base(metric)] = true
			}
			for _, field := range legendField.FindAllStringSubmatch(target.LegendFormat, -1) {
				by := aggregation.FindStringSubmatch(target.Expr)
				if by == nil || !slices.Contains(label.FindAllString(by[1], -1), field[1]) {
					t.Errorf("%s: %s leaves no %s for the legend", p.Title, target.Expr, field[1])
				}
			}
		}
	}
	eventful(t, nil, func(*testing.T, *telemetry) {}, func(t *testing.T, s *telemetry) {
		all := gather(t, s.registry)
		measured := map[string]bool{}
		for _, one := range all {
			if strings.HasPrefix(one.metric, "redlock_") {
				measured[base(one.metric)] = true
			}
		}
		if !maps.Equal(shown, measured) {
			t.Errorf("the dashboard shows\n%v, measured are\n%v", shown, measured)
		}
		if listed := listedMetrics(t); !maps.Equal(listed, measured) {
			t.Errorf("OBSERVING.md lists\n%v, measured are\n%v", listed, measured)
		}
		for where, query := range queries {
			for _, metric := range metricsOf(query) {
				found := selects(all, metric, query)
				mayBeZero := metric == "redlock_master_up" || metric == "redlock_held"
				if !slices.ContainsFunc(found, func(s series) bool { return mayBeZero || s.value > 0 }) {
					t.Errorf("%s: %s has measured nothing: %v", where, query, found)
				}
				for _, by := range aggregation.FindAllStringSubmatch(query, -1) {
					for _, l := range label.FindAllString(by[1], -1) {
						if slices.ContainsFunc(found, func(s series) bool { return s.labels[l] == "" }) {
							t.Errorf("%s: it groups by %s, which not all have: %v", where, l, found)
						}
					}
				}
			}
		}
		for _, v := range readBoard(t).Templating.List {
			var query struct{ Query string }
			if json.Unmarshal(v.Query, &query) != nil {
				continue // not a query, but a kind of data source
			}
			// This metric counts calls when they end, so a list of jobs made from this metric would lack jobs whose
			// calls all wait.
			if metrics := metricsOf(query.Query); len(metrics) != 1 || !measured[metrics[0]] || metrics[0] == "redlock_acquisitions_total" {
				t.Errorf("a variable of the dashboard asks for %v", metrics)
			}
		}
		s.checkAttributes()
	})
}

// base returns the name of a metric without a histogram's suffix.
func base(metric string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		metric = strings.TrimSuffix(metric, suffix)
	}
	return metric
}

// listedMetrics returns the metrics of docs/OBSERVING.md as Prometheus names them.
func listedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../docs/OBSERVING.md")
	harness.Must(t, err)
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(redlock\\.[a-z_.]+)` \\| ([a-z-]+)").FindAllStringSubmatch(string(page), -1) {
		name := strings.ReplaceAll(row[1], ".", "_")
		switch row[2] {
		case "histogram":
			name += "_seconds"
		case "counter":
			name += "_total"
		}
		listed[name] = true
	}
	return listed
}

// Each series of an alert exists with 0 before its first event; otherwise increase() would miss that event. With names,
// a series exists from the first hold of its name.
func TestAlertsSeeFirstEvent(t *testing.T) {
	t.Parallel()
	for what, opts := range map[string][]redlockotel.Option{
		"without names": nil,
		"with names":    {redlockotel.WithNames(func(name string) string { return name })},
	} {
		t.Run(what, func(t *testing.T) {
			var before []series
			atRest := func(t *testing.T, s *telemetry) { before = gather(t, s.registry) }
			eventful(t, opts, atRest, func(t *testing.T, s *telemetry) {
				for name, query := range alerts(t) {
					metric := metricsOf(query)[0]
					if !strings.HasSuffix(metric, "_total") {
						continue
					}
					happened := false
					for _, s := range selects(gather(t, s.registry), metric, query) {
						zero := func(b series) bool { return b.metric == metric && b.value == 0 && maps.Equal(b.labels, s.labels) }
						if s.value > 0 && !slices.ContainsFunc(before, zero) {
							t.Errorf("%s: %v was not there with 0", name, s)
						}
						happened = happened || s.value > 0
					}
					if !happened {
						t.Errorf("%s: it has not happened", name)
					}
				}
			})
		})
	}
}

// The alert for a missing quorum fires even while all callers wait in calls of Lock without a bound.
func TestNoQuorumAlertSeesWaitingCalls(t *testing.T) {
	t.Parallel()
	for outage, begin := range map[string]func(harness.Master){
		"masters are down":        harness.Master.Die,
		"masters hang":            harness.Master.Freeze,
		"masters lost their data": func(m harness.Master) { m.(harness.EmbeddedMaster).FlushAll() },
	} {
		t.Run(outage, func(t *testing.T) {
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				d.Client() // founds the deployment
				harness.All(d.Masters[:2], begin)
				s := newTelemetry(t)
				c := d.Client(redlock.WithObserver(s.observer()))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := c.Lock(ctx, "job", redlock.WithWaitForSetup())
					ended <- err
				}()
				query := alerts(t)["no quorum"]
				time.Sleep(time.Minute)
				before := s.sum(query)
				time.Sleep(time.Minute)
				if after := s.sum(query); before == 0 || after <= before {
					t.Errorf("it does not fire: %s went from %v to %v", query, before, after)
				}
				cancel()
				harness.RequireErr(t, <-ended, context.Canceled)
			})
		})
	}
}

// The alert for a missing quorum does not fire for calls that end before the masters have decided.
func TestNoQuorumAlertIgnoresCanceledCalls(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		harness.All(d.Masters[:2], harness.Master.Freeze)
		leaving, leave := context.WithCancel(t.Context())
		hurried, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer end()
		time.AfterFunc(100*time.Millisecond, leave)
		_, err := c.TryLock(leaving, "job")
		harness.RequireErr(t, err, context.Canceled)
		_, err = c.Lock(hurried, "job")
		harness.RequireErr(t, err, context.DeadlineExceeded)
		harness.All(d.Masters[:2], harness.Master.Thaw)
		want := map[string]float64{alerts(t)["no quorum"]: 0}
		for _, class := range []string{"canceled", "timeout"} {
			want[fmt.Sprintf(`redlock_failed_attempts_total{error_type="%s"}`, class)] = 1
			want[fmt.Sprintf(`redlock_acquisitions_total{redlock_call_outcome="%s"}`, class)] = 1
		}
		s.measured(want)
	})
}

// docs/OBSERVING.md has a remedy for each rule.
func TestRulesMatchAlerts(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/OBSERVING.md")
	harness.Must(t, err)
	_, section, _ := strings.Cut(string(page), "\n| alert | what to do |\n|---|---|\n")
	section, _, _ = strings.Cut(section, "\n\n")
	var listed []string
	for line := range strings.Lines(section) {
		listed = append(listed, strings.TrimSpace(strings.Split(line, "|")[1]))
	}
	if rules := slices.Sorted(maps.Keys(alerts(t))); len(rules) == 0 || !slices.Equal(rules, slices.Sorted(slices.Values(listed))) {
		t.Errorf("the rules are\n%v, the alerts\n%v", rules, listed)
	}
}
