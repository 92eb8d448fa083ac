package redlockotel_test

import (
	"context"
	"encoding/json"
	"errors"
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
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/redlockotel"
)

// measureAll lets an observer measure everything once, and returns the names of the metrics, with
// their attributes.
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

// exported returns the metrics that a Prometheus server gets, as they are asked for, with their
// labels.
func exported(t *testing.T) map[string]map[string]bool {
	t.Helper()
	registry := prometheus.NewRegistry()
	e, err := exporter.New(exporter.WithRegisterer(registry))
	must(t, err)
	measureAll(t, sdkmetric.NewManualReader(), sdkmetric.WithReader(e))
	return gathered(t, registry)
}

// gathered is what exported returns, of what a registry has.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]map[string]bool {
	t.Helper()
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

// metricsOf returns the metrics that a query asks for, and complains of those, and of labels, that
// there are not.
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
	all := alerts(t)
	for name, query := range all {
		metricsOf(t, name, query, labels)
		for _, by := range aggregation.FindAllStringSubmatch(query, -1) {
			if !slices.Contains(label.FindAllString(by[1], -1), "job") {
				t.Errorf("%s: it puts the deployments of all jobs together: %s", name, query)
			}
		}
	}
	if len(all) < 5 {
		t.Errorf("%d alerts", len(all))
	}
}

// aggregation finds what a query puts together, and by which labels.
var aggregation = regexp.MustCompile(`\b(?:sum|min|max|count|avg)(?: by \(([^)]*)\))? ?\(`)

// alerts returns the expressions of the alerts in docs/OBSERVING.md by their names.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/OBSERVING.md")
	must(t, err)
	all := map[string]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|") // in a table, | is written \|
		if len(cells) != 5 {
			continue
		}
		_, code, _ := strings.Cut(cells[2], "`")
		query, _, found := strings.Cut(code, "`")
		if found && strings.Contains(query, "redlock_") {
			all[strings.TrimSpace(cells[1])] = strings.ReplaceAll(query, "\x00", "|")
		}
	}
	return all
}

// series are those that are there for what a query selects.
type series struct {
	labels map[string]string
	value  float64 // of a histogram: how often it measured
}

// selects returns what a query asks for at this time, of the server of a job and an instance.
func selects(t *testing.T, registry *prometheus.Registry, query string) (found []series) {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	query = strings.NewReplacer("$job", ".*", "$instance", ".*").Replace(query)
	metric := word.FindString(aggregation.ReplaceAllString(query, ""))
	var matchers [][]string
	if within := selected.FindStringSubmatch(query); within != nil {
		matchers = matcher.FindAllStringSubmatch(within[1], -1)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			of := map[string]string{"job": "job", "instance": "instance"}
			for _, l := range m.GetLabel() {
				of[l.GetName()] = l.GetValue()
			}
			name, value := f.GetName(), m.GetCounter().GetValue()+m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				name, value = name+part.FindString(metric), float64(h.GetSampleCount())
				of["le"] = "+Inf"
			}
			if name == metric && !slices.ContainsFunc(matchers, func(m []string) bool { return !matches(of[m[1]], m[2], m[3]) }) {
				found = append(found, series{of, value})
			}
		}
	}
	return found
}

// part ends the name of what a Prometheus server has of a histogram.
var part = regexp.MustCompile(`_(bucket|sum|count)$`)

// counts returns the sum of the series that are there for what a query selects.
func counts(t *testing.T, registry *prometheus.Registry, query string) (sum float64) {
	t.Helper()
	for _, s := range selects(t, registry, query) {
		sum += s.value
	}
	return sum
}

var matcher = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)

func matches(value, operator, with string) bool {
	same := value == with
	if strings.Contains(operator, "~") {
		same = regexp.MustCompile("^(?:" + with + ")$").MatchString(value)
	}
	return same != strings.HasPrefix(operator, "!")
}

// exporting returns an observer, and where a Prometheus server would get what it measures.
func exporting(t *testing.T, opts ...redlockotel.Option) (redlock.Observer, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	e, err := exporter.New(exporter.WithRegisterer(registry))
	must(t, err)
	meters := redlockotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(e)))
	o, err := redlockotel.NewObserver(append(opts, meters)...)
	must(t, err)
	return o, registry
}

// The alert fires while all callers wait: a Lock without a bound does not end as long as there is
// no quorum.
func TestNoQuorumAlertSeesCallsThatWait(t *testing.T) {
	t.Parallel()
	for outage, begin := range map[string]func(*testmasters.Deployment){
		"masters are down": func(d *testmasters.Deployment) {
			d.Embedded[0].Kill(false)
			d.Embedded[1].Kill(false)
		},
		"masters hang": func(d *testmasters.Deployment) {
			d.Embedded[0].Pause()
			d.Embedded[1].Pause()
		},
		"masters lost their data": func(d *testmasters.Deployment) {
			for _, s := range d.Embedded {
				s.FlushAll()
			}
		},
	} {
		t.Run(outage, func(t *testing.T) {
			t.Parallel()
			testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
				begin(d)
				o, registry := exporting(t)
				c := d.Client(redlock.WithObserver(o))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := c.Lock(ctx, "job", redlock.WithWaitForSetup())
					ended <- err
				}()
				query := alerts(t)["no quorum"]
				time.Sleep(time.Minute)
				before := counts(t, registry, query)
				time.Sleep(time.Minute)
				if after := counts(t, registry, query); before == 0 || after <= before {
					t.Errorf("it does not fire: %s went from %v to %v", query, before, after)
				}
				if n := counts(t, registry, "redlock_acquisitions_total"); n != 0 {
					t.Errorf("%v calls have ended", n)
				}
				cancel()
				requireErr(t, <-ended, context.Canceled)
			})
		})
	}
}

// It does not fire for callers that leave before the masters have decided, as a web service has
// them.
func TestNoQuorumAlertIsSilentForCallersThatLeave(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		o, registry := exporting(t)
		c := d.Client(redlock.WithObserver(o))
		must(t, c.Ready(t.Context()))
		synctest.Wait()
		d.Embedded[0].Pause()
		d.Embedded[1].Pause()
		leaving, leave := context.WithCancel(t.Context())
		hurried, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer end()
		time.AfterFunc(100*time.Millisecond, leave)
		_, err := c.TryLock(leaving, "job")
		requireErr(t, err, redlock.ErrNotAcquired)
		requireErr(t, err, context.Canceled)
		_, err = c.Lock(hurried, "job")
		requireErr(t, err, redlock.ErrNotAcquired)
		requireErr(t, err, context.DeadlineExceeded)
		d.Embedded[0].Resume()
		d.Embedded[1].Resume()
		if n := counts(t, registry, alerts(t)["no quorum"]); n != 0 {
			t.Errorf("it counts %v", n)
		}
		for _, class := range []string{"canceled", "timeout"} {
			for _, query := range []string{`redlock_failed_attempts_total{error_type="%s"}`, `redlock_acquisitions_total{redlock_call_outcome="%s"}`} {
				if n := counts(t, registry, fmt.Sprintf(query, class)); n != 1 {
					t.Errorf("%s is counted %v times by %s", class, n, query)
				}
			}
		}
	})
}

// The alert, and the panel at the top of the dashboard, are about each reason why there is no
// quorum, and about no other.
func TestNoQuorumAlertKnowsTheReasons(t *testing.T) {
	t.Parallel()
	_, board := dashboard(t)
	for _, query := range []string{alerts(t)["no quorum"], board["Attempts without a quorum, last 5 minutes"]} {
		query = strings.NewReplacer(`job=~"$job",`, "", `instance=~"$instance",`, "").Replace(query)
		for _, c := range []struct {
			err   error
			fires float64
		}{
			{redlock.ErrNoQuorum, 1},
			{errors.Join(&redlock.QuorumError{Op: "acquire", Reason: redlock.ErrNoQuorum}, redlock.ErrNeedsInit), 1},
			{&redlock.QuorumError{Op: "acquire", Reason: redlock.ErrNoQuorum, Votes: []redlock.Vote{{Err: redlock.ErrDenied}}}, 1},
			{redlock.ErrHeld, 0},
			{&redlock.QuorumError{Op: "acquire", Reason: context.Canceled, Votes: []redlock.Vote{{Err: redlock.ErrDenied}}}, 0},
		} {
			o, registry := exporting(t)
			ctx := o.Started(t.Context(), redlock.LockCall{Names: []string{"job"}})
			o.AttemptFailed(ctx, redlock.FailedAttempt{Name: "job", Err: c.err})
			if got := counts(t, registry, query); got != c.fires {
				t.Errorf("%v: %s counts %v, want %v", c.err, query, got, c.fires)
			}
		}
	}
}

// What the dashboard's lists of jobs and instances are made of is there before any call has ended.
func TestDashboardListsWhoWaits(t *testing.T) {
	t.Parallel()
	variables, _ := dashboard(t)
	if len(variables) != 2 {
		t.Errorf("variables: %q", variables)
	}
	labels := exported(t)
	for _, query := range variables {
		if labels[word.FindString(query)] == nil || strings.Contains(query, "redlock_acquisitions_total") {
			t.Errorf("%s: such a metric is not there when all callers have waited from the start", query)
		}
	}
}

// panel is one of the dashboard.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr, LegendFormat string }
}

// boardFile is what the tests look at of the dashboard's file.
type boardFile struct {
	Templating struct {
		List []struct{ Query json.RawMessage }
	}
	Panels []panel
}

func readBoard(t *testing.T) (b boardFile) {
	t.Helper()
	text, err := os.ReadFile("grafana/redlock.json")
	must(t, err)
	must(t, json.Unmarshal(text, &b))
	return b
}

// dashboard returns the queries of the variables, and the first query of each panel by its title.
func dashboard(t *testing.T) (variables []string, first map[string]string) {
	t.Helper()
	b := readBoard(t)
	for _, v := range b.Templating.List {
		var query struct{ Query string }
		if json.Unmarshal(v.Query, &query) == nil { // else it is no query, but a kind of data source
			variables = append(variables, query.Query)
		}
	}
	first = map[string]string{}
	for _, p := range b.Panels {
		if len(p.Targets) > 0 {
			first[p.Title] = p.Targets[0].Expr
		}
	}
	return variables, first
}

// The queries of the dashboard ask for metrics and labels that a Prometheus server gets.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	t.Parallel()
	labels := exported(t)
	asked, ids := map[string]bool{}, map[int]bool{}
	for _, p := range readBoard(t).Panels {
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
				if name == "redlock_members_version" && !strings.Contains(target.Expr, "by (job)") {
					t.Errorf("%s: it compares the deployments of all jobs: %s", p.Title, target.Expr)
				}
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

// The rules of deploy are the alerts of docs/OBSERVING.md. Their number of masters that are down is
// that of three masters.
func TestRulesAreTheAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	must(t, err)
	found := map[string]string{}
	for _, rule := range regexp.MustCompile(`(?m)^        expr: (.*)\n(?:        (?:for|labels): .*\n)+        annotations: \{summary: (.*)\}$`).FindAllStringSubmatch(string(text), -1) {
		found[rule[2]] = rule[1]
	}
	all := alerts(t)
	all["no spare master is left"] = strings.Replace(all["two masters are down"], ">= 2", ">= 1", 1)
	delete(all, "two masters are down")
	if !maps.Equal(found, all) {
		t.Errorf("the rules are\n%v, the alerts\n%v", found, all)
	}
}
