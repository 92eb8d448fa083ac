package redlockotel_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/redlockotel"
)

// telemetry is an SDK whose spans and metrics a test looks at.
type telemetry struct {
	t       *testing.T
	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	reader  *sdkmetric.ManualReader
	meters  *sdkmetric.MeterProvider
}

func newTelemetry(t *testing.T) *telemetry {
	s := &telemetry{t: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	s.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	return s
}

func (s *telemetry) observer(opts ...redlockotel.Option) redlock.Observer {
	s.t.Helper()
	o, err := redlockotel.NewObserver(append([]redlockotel.Option{redlockotel.WithTracerProvider(s.tracers), redlockotel.WithMeterProvider(s.meters)}, opts...)...)
	must(s.t, err)
	return o
}

// client is one that has reached all masters; what it did for that is forgotten, but for the
// metrics.
func (s *telemetry) client(d *testmasters.Deployment, opts ...redlockotel.Option) *redlock.Client {
	s.t.Helper()
	c := d.Client(redlock.WithObserver(s.observer(opts...)))
	lock, err := c.Lock(s.t.Context(), "reaching")
	must(s.t, err)
	must(s.t, lock.Unlock(s.t.Context()))
	synctest.Wait()
	s.spans.Reset()
	return c
}

// span returns the one span of that name so far.
func (s *telemetry) span(name string) tracetest.SpanStub {
	s.t.Helper()
	var found []tracetest.SpanStub
	var names []string
	for _, span := range s.spans.GetSpans() {
		names = append(names, span.Name)
		if span.Name == name {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("%d spans %q among %q", len(found), name, names)
	}
	return found[0]
}

// metrics returns what was collected, by name and attributes: sums, gauges, and of histograms the
// count and the sum.
func (s *telemetry) metrics() map[string]string {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	must(s.t, s.reader.Collect(s.t.Context(), &all))
	told := map[string]string{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					told[m.Name+text(p.Attributes)] = fmt.Sprint(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					told[m.Name+text(p.Attributes)] = fmt.Sprint(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					told[m.Name+text(p.Attributes)] = fmt.Sprintf("%d: %.4g%s", p.Count, p.Sum, m.Unit)
				}
			default:
				s.t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return told
}

func text(set attribute.Set) string { return "{" + set.Encoded(attribute.DefaultEncoder()) + "}" }

func (s *telemetry) measured(want map[string]string) {
	s.t.Helper()
	all := s.metrics()
	for name, value := range want {
		if all[name] != value {
			s.t.Errorf("%s is %q, want %q", name, all[name], value)
		}
	}
	if s.t.Failed() {
		var lines []string
		for name, value := range all {
			lines = append(lines, name+" = "+value)
		}
		s.t.Logf("measured\n%s", strings.Join(lines, "\n"))
	}
}

func attributes(all []attribute.KeyValue) string { return text(attribute.NewSet(all...)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func requireErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v; want one that is %v", err, want)
	}
}

// The call and the hold are spans under the caller's, linked to each other, and the Unlock is one
// under its own.
func TestSpansOfAHold(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		ctx, caller := s.tracers.Tracer("test").Start(t.Context(), "caller")
		lock, err := c.Lock(ctx, "job", redlock.WithTTL(30*time.Second))
		must(t, err)
		token := lock.Token()
		time.Sleep(25 * time.Second) // two renewals
		if got := trace.SpanFromContext(lock.Context()); got.SpanContext().SpanID() != caller.SpanContext().SpanID() {
			t.Error("work under the lock is not under the caller's span")
		}
		unlocking, closer := s.tracers.Tracer("test").Start(t.Context(), "closer")
		must(t, lock.Unlock(unlocking))

		call, hold, unlock := s.span("redlock lock"), s.span("redlock hold"), s.span("redlock unlock")
		if call.Parent.SpanID() != caller.SpanContext().SpanID() || hold.Parent.SpanID() != caller.SpanContext().SpanID() || unlock.Parent.SpanID() != closer.SpanContext().SpanID() {
			t.Error("the spans have other parents")
		}
		if len(hold.Links) != 1 || hold.Links[0].SpanContext.SpanID() != call.SpanContext.SpanID() {
			t.Errorf("the hold has links %v", hold.Links)
		}
		if held := hold.EndTime.Sub(hold.StartTime); held != 25*time.Second {
			t.Errorf("held for %v", held)
		}
		if got, want := attributes(call.Attributes), "{redlock.call.attempts=1,redlock.call.outcome=acquired,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.name=job}"; got != want {
			t.Errorf("call: %s, want %s", got, want)
		}
		if got, want := attributes(hold.Attributes), fmt.Sprintf("{redlock.hold.end=released,redlock.hold.renewals=2,redlock.lock.mode=write,redlock.lock.name=job,redlock.lock.token=%d}", token); got != want {
			t.Errorf("hold: %s, want %s", got, want)
		}
		for _, span := range []tracetest.SpanStub{call, hold, unlock} {
			if span.Status.Code != codes.Unset {
				t.Errorf("%s: %v", span.Name, span.Status)
			}
		}
		s.measured(map[string]string{
			"redlock.hold.duration{redlock.hold.end=released,redlock.lock.mode=write}": "2: 25s",
			"redlock.renewals{redlock.lock.mode=write}":                                "2",
			"redlock.held{redlock.lock.mode=write}":                                    "0",
			"redlock.unlock.duration{redlock.lock.mode=write}":                         "2: 0s",
			"redlock.acquisition.duration{redlock.lock.mode=write}":                    "2: 0s",
		})
	})
}

// A Lock that waits in vain is an error with its attempts; a TryLock that is refused is none.
func TestSpansOfCallsThatFail(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		held, err := d.Client().TryLock(t.Context(), "job")
		must(t, err)
		_, err = c.TryLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrHeld)
		_, err = c.Lock(t.Context(), "job", redlock.WithWait(2*time.Second))
		requireErr(t, err, context.DeadlineExceeded)
		_, err = c.TryRLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrHeld)
		must(t, held.Unlock(t.Context()))

		try, lock := s.span("redlock try_lock"), s.span("redlock lock")
		if try.Status.Code != codes.Unset || len(try.Events) != 1 || try.Events[0].Name != "redlock.attempt.failed" {
			t.Errorf("TryLock: %v, events %v", try.Status, try.Events)
		}
		if lock.Status.Code != codes.Error || len(lock.Events) == 0 || lock.EndTime.Sub(lock.StartTime) != 2*time.Second {
			t.Errorf("Lock: %v, events %v, took %v", lock.Status, lock.Events, lock.EndTime.Sub(lock.StartTime))
		}
		if got := attributes(lock.Attributes); !strings.Contains(got, "error.type=held") {
			t.Errorf("Lock: %s", got)
		}
		s.span("redlock try_read_lock")
		s.measured(map[string]string{
			"redlock.acquisitions{redlock.call.outcome=held,redlock.lock.mode=write}":     "2",
			"redlock.wait.duration{redlock.call.outcome=held,redlock.lock.mode=write}":    "2: 2s",
			"redlock.acquisitions{redlock.call.outcome=held,redlock.lock.mode=read}":      "1",
			"redlock.acquisitions{redlock.call.outcome=acquired,redlock.lock.mode=write}": "1",
			"redlock.failed_attempts{error.type=held,redlock.lock.mode=read}":             "1",
			"redlock.failed_attempts{error.type=held,redlock.lock.mode=write}":            fmt.Sprint(1 + len(lock.Events)),
		})
	})
}

// A hold that could not be renewed is a span with an error, and a loss.
func TestTelemetryOfALoss(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		lock, err := c.TryLock(t.Context(), "job", redlock.WithTTL(30*time.Second))
		must(t, err)
		synctest.Wait()
		if got := s.metrics()["redlock.held{redlock.lock.mode=write}"]; got != "1" {
			t.Errorf("%s are held", got)
		}
		d.Embedded[0].Kill(false)
		d.Embedded[1].Kill(false)
		<-lock.Context().Done()
		requireErr(t, lock.Unlock(t.Context()), redlock.ErrExpired)
		synctest.Wait()
		hold, unlock := s.span("redlock hold"), s.span("redlock unlock")
		if hold.Status.Code != codes.Error || len(hold.Events) < 2 || hold.Events[0].Name != "redlock.renewal.failed" {
			t.Errorf("hold: %v, events %v", hold.Status, hold.Events)
		}
		if unlock.Status.Code != codes.Error {
			t.Errorf("unlock: %v", unlock.Status)
		}
		s.measured(map[string]string{
			"redlock.losses{redlock.hold.end=expired,redlock.lock.mode=write}":                "1",
			"redlock.held{redlock.lock.mode=write}":                                           "0",
			"redlock.renewals{error.type=no_quorum,redlock.lock.mode=write}":                  fmt.Sprint(len(hold.Events)),
			"redlock.unlock.duration{error.type=expired,redlock.lock.mode=write}":             "1: 0s",
			fmt.Sprintf("redlock.master.up{server.address=%s}", d.Embedded[0].Options().Addr): "0",
		})
	})
}

// The span of an Unlock lasts for as long as that took.
func TestSpanOfAnUnlockThatTakesLong(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		lock, err := c.TryLock(t.Context(), "job")
		must(t, err)
		synctest.Wait()
		d.Embedded[0].Pause()
		d.Embedded[1].Pause()
		requireErr(t, lock.Unlock(t.Context()), redlock.ErrNoQuorum)
		unlock := s.span("redlock unlock")
		if took := unlock.EndTime.Sub(unlock.StartTime); took != limits.DefaultRequestTimeout || unlock.Status.Code != codes.Error {
			t.Errorf("it took %v: %v", took, unlock.Status)
		}
	})
}

// Re-entries, sets and slots have spans; a set has one for each hold.
func TestSpansOfReEntriesSetsAndSlots(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		set, err := c.LockAll(t.Context(), []string{"a", "b"})
		must(t, err)
		again, err := c.TryLock(set.Context(), "a")
		must(t, err)
		must(t, again.Unlock(t.Context()))
		must(t, set.Unlock(t.Context()))
		if got := attributes(s.span("redlock lock_all").Attributes); !strings.Contains(got, `redlock.lock.names=["a","b"]`) {
			t.Errorf("set: %s", got)
		}
		if got := attributes(s.span("redlock try_lock").Attributes); !strings.Contains(got, "outcome=re-entered") {
			t.Errorf("re-entry: %s", got)
		}
		holds := 0
		for _, span := range s.spans.GetSpans() {
			if span.Name == "redlock hold" {
				holds++
			}
		}
		if holds != 2 {
			t.Errorf("%d spans of holds", holds)
		}
		s.spans.Reset()
		slot, err := c.Lock(t.Context(), "c", redlock.WithSlots(1))
		must(t, err)
		must(t, slot.Unlock(t.Context()))
		if got := attributes(s.span("redlock hold").Attributes); !strings.Contains(got, "redlock.lock.name=c~slot1,redlock.lock.slot=1") {
			t.Errorf("slot: %s", got)
		}
	})
}

// Names are attributes of metrics only if they are asked for, and as they are grouped.
func TestNamesOfMetrics(t *testing.T) {
	t.Parallel()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		plain, named := newTelemetry(t), newTelemetry(t)
		group := func(name string) string { kind, _, _ := strings.Cut(name, ":"); return kind }
		for s, opts := range map[*telemetry][]redlockotel.Option{plain: nil, named: {redlockotel.WithNames(group)}} {
			c := s.client(d, opts...)
			for i := range 3 {
				lock, err := c.TryLock(t.Context(), fmt.Sprint("order:", i))
				must(t, err)
				must(t, lock.Unlock(t.Context()))
			}
		}
		for name := range plain.metrics() {
			if strings.Contains(name, "redlock.lock.name") {
				t.Errorf("measured %s", name)
			}
		}
		named.measured(map[string]string{
			"redlock.acquisitions{redlock.call.outcome=acquired,redlock.lock.mode=write,redlock.lock.name=order}": "3",
			"redlock.held{redlock.lock.mode=write,redlock.lock.name=order}":                                       "0",
		})
	})
}

// Each master's calls are measured by its address, on redis-server processes.
func TestMetricsOfMasters(t *testing.T) {
	t.Parallel()
	d := testmasters.Processes(t, 3)
	s := newTelemetry(t)
	c := d.Client(redlock.WithObserver(s.observer()), redlock.WithRequestTimeout(5*time.Second))
	wait := func(what string, state func(map[string]string) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			lock, err := c.Lock(t.Context(), "job", redlock.WithWait(20*time.Second))
			must(t, err)
			must(t, lock.Unlock(t.Context()))
			all := s.metrics()
			if state(all) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, all)
			}
		}
	}
	of := func(metric string, i int, more string) string {
		host, port, _ := strings.Cut(d.Servers[i].Addr(), ":")
		return fmt.Sprintf("%s{%sserver.address=%s,server.port=%s}", metric, more, host, port)
	}
	wait("all masters are up, and answer", func(all map[string]string) bool {
		for i := range d.Servers {
			if all[of("redlock.master.up", i, "")] != "1" || all[of("redlock.master.call.duration", i, "")] == "" {
				return false
			}
		}
		return true
	})
	d.Servers[2].Kill()
	wait("one is down", func(all map[string]string) bool { return all[of("redlock.master.up", 2, "")] == "0" })
	must(t, d.Servers[2].Restart())
	wait("it is up again", func(all map[string]string) bool { return all[of("redlock.master.up", 2, "")] == "1" })
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	_, err := redlockotel.NewObserver(redlockotel.WithTracerProvider(nil), redlockotel.WithMeterProvider(nil), redlockotel.WithNames(nil), nil)
	requireErr(t, err, redlock.ErrBadOption)
	for _, field := range []string{"tracer provider", "meter provider", "names", "options[3]"} {
		if !strings.Contains(err.Error(), "invalid "+field+" <nil>") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// docs/OBSERVING.md has a row for each metric.
func TestDocumentListsTheMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/OBSERVING.md")
	must(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(line, "| `redlock."); ok {
			name, _, _ = strings.Cut(name, "`")
			listed["redlock."+name] = true
		}
	}
	for name := range measureAll(t, sdkmetric.NewManualReader()) {
		if !listed[name] {
			t.Errorf("%s is not listed", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%s is listed, and not measured", name)
	}
}

// attempt is the error of an acquisition that found no quorum, with these errors of masters.
func attempt(reason error, masters ...error) error {
	e := &redlock.QuorumError{Op: "acquire", Name: "job", Reason: reason}
	for _, err := range masters {
		e.Votes = append(e.Votes, redlock.Vote{Err: err})
	}
	return e
}

// Each error has one type. docs/OBSERVING.md lists the types.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	typed := map[string]bool{}
	for _, c := range []struct {
		err  error
		want string
	}{
		{redlock.ErrHeld, "held"},
		{redlock.ErrNoQuorum, "no_quorum"},
		{redlock.ErrTooSlow, "too_slow"},
		{redlock.ErrDenied, "denied"},
		{redlock.ErrNeedsInit, "needs_init"},
		{redlock.ErrLost, "lost"},
		{redlock.ErrExpired, "expired"},
		{redlock.ErrReleased, "released"},
		{redlock.ErrUpgrade, "upgrade"},
		{redlock.ErrReentry, "reentry"},
		{redlock.ErrClosed, "closed"},
		{redlock.ErrBadOption, "bad_option"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{os.ErrDeadlineExceeded, "timeout"},
		{errors.New("broken"), "_OTHER"},

		{attempt(redlock.ErrNoQuorum, redlock.ErrDenied, nil), "denied"},
		{attempt(redlock.ErrNoQuorum, redlock.ErrNotMember, nil), "no_quorum"},
		{errors.Join(attempt(redlock.ErrNoQuorum, redlock.ErrNotMember, redlock.ErrDenied), redlock.ErrNeedsInit), "needs_init"},
		{attempt(redlock.ErrHeld, redlock.ErrDenied, nil), "held"},
		{attempt(redlock.ErrTooSlow, redlock.ErrDenied, nil), "too_slow"},
		{attempt(redlock.ErrLost, redlock.ErrDenied, nil), "lost"},
		{errors.Join(redlock.ErrNotAcquired, redlock.ErrReentry), "reentry"},
		{errors.Join(redlock.ErrNotAcquired, redlock.ErrUpgrade), "upgrade"},
		{errors.Join(context.DeadlineExceeded, attempt(redlock.ErrNoQuorum)), "no_quorum"},
		{errors.Join(context.Canceled, redlock.ErrNotAcquired), "canceled"},
	} {
		s := newTelemetry(t)
		o := s.observer()
		o.AttemptFailed(o.Started(t.Context(), redlock.LockCall{Names: []string{"job"}}), redlock.FailedAttempt{Name: "job", Err: c.err})
		if got := s.metrics(); got["redlock.failed_attempts{error.type="+c.want+",redlock.lock.mode=write}"] != "1" {
			t.Errorf("%v: want %s, measured %v", c.err, c.want, got)
		}
		typed[c.want] = true
	}

	page, err := os.ReadFile("../docs/OBSERVING.md")
	must(t, err)
	_, row, _ := strings.Cut(string(page), "\n| error.type | ")
	row, _, _ = strings.Cut(row, ".")
	listed := strings.Split(row, ", ")
	for _, word := range listed {
		if !typed[word] {
			t.Errorf("OBSERVING.md lists %q, which is no type", word)
		}
		delete(typed, word)
	}
	for word := range typed {
		t.Errorf("OBSERVING.md does not list %s", word)
	}
}

// All exported errors of the lock have a type, but those of which an observer is not told alone.
func TestAllErrorsHaveTypes(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"ErrNotAcquired":   "another says why",
		"ErrNotMember":     "it is within ErrNoQuorum",
		"ErrNeedsSetup":    "it is beside the error that says what has to be set up",
		"ErrNotFounded":    "Init is not told",
		"ErrChangeRefused": "ChangeMembers is not told",
		"ErrWriters":       "a Downgrade that is refused is not told",
	}
	source, err := os.ReadFile("../internal/telemetry/telemetry.go")
	must(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), "../errors.go", nil, 0)
	must(t, err)
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Err") {
			return true
		}
		found++
		name := v.Names[0].Name
		if typed := strings.Contains(string(source), "{redlock."+name+", "); typed == (without[name] != "") {
			t.Errorf("%s: has a type: %v; why it may have none: %q", name, typed, without[name])
		}
		return true
	})
	if found < len(without)+10 {
		t.Errorf("%d errors", found)
	}
}
