package redlockotel_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/redlockotel"
)

// telemetry is an SDK with recorded spans, and metrics as a Prometheus server gets them.
type telemetry struct {
	t        *testing.T
	spans    *tracetest.InMemoryExporter
	tracers  *sdktrace.TracerProvider
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
}

func newTelemetry(t *testing.T) *telemetry {
	t.Helper()
	s := &telemetry{t: t, spans: tracetest.NewInMemoryExporter(), registry: prometheus.NewRegistry()}
	e, err := exporter.New(exporter.WithRegisterer(s.registry))
	harness.Must(t, err)
	s.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(e))
	return s
}

func (s *telemetry) observer(opts ...redlockotel.Option) redlock.Observer {
	s.t.Helper()
	o, err := redlockotel.NewObserver(append([]redlockotel.Option{redlockotel.WithTracerProvider(s.tracers), redlockotel.WithMeterProvider(s.meters)}, opts...)...)
	harness.Must(s.t, err)
	return o
}

// client returns a client that has reached all masters, and drops the spans recorded so far.
func (s *telemetry) client(d *harness.Deployment, opts ...redlockotel.Option) *redlock.Client {
	s.t.Helper()
	c := d.Client(redlock.WithObserver(s.observer(opts...)))
	harness.Must(s.t, c.Ready(s.t.Context()))
	synctest.Wait()
	s.spans.Reset()
	return c
}

// sum returns the sum of the series that a query selects.
func (s *telemetry) sum(query string) (sum float64) {
	s.t.Helper()
	for _, one := range selects(gather(s.t, s.registry), metricsOf(query)[0], query) {
		sum += one.value
	}
	return sum
}

func (s *telemetry) measured(want map[string]float64) {
	s.t.Helper()
	for query, value := range want {
		if got := s.sum(query); got != value {
			s.t.Errorf("%s is %v, want %v", query, got, value)
		}
	}
}

var counted = regexp.MustCompile(`(token|attempts)=\d+`)

// lines returns a line for each span, sorted: name, status, duration, attributes and event names. It writes N
// for each token and number of attempts, because these differ from run to run.
func (s *telemetry) lines() (all []string) {
	for _, span := range s.spans.GetSpans() {
		line := fmt.Sprint(span.Name, " ", span.Status.Code, " ", span.EndTime.Sub(span.StartTime).Round(time.Second), " ",
			counted.ReplaceAllString(text(span.Attributes), "$1=N"))
		var events []string
		for _, e := range span.Events {
			events = append(events, " "+e.Name)
		}
		slices.Sort(events)
		all = append(all, line+strings.Join(slices.Compact(events), ""))
	}
	slices.Sort(all)
	return all
}

func text(all []attribute.KeyValue) string {
	set := attribute.NewSet(all...)
	return "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
}

// checkAttributes checks that attributes are the library's own or semantic conventions, and that failures have
// messages.
func (s *telemetry) checkAttributes() {
	s.t.Helper()
	conventional := []string{"error.type", "server.address", "server.port"}
	check := func(where string, all []attribute.KeyValue) {
		messages := 0
		for _, a := range all {
			if !strings.HasPrefix(string(a.Key), "redlock.") && !slices.Contains(conventional, string(a.Key)) {
				s.t.Errorf("%s: the attribute %s is another's", where, a.Key)
			}
			if a.Key == "redlock.error.message" && a.Value.AsString() != "" {
				messages++
			}
		}
		if strings.HasSuffix(where, ".failed") && messages != 1 {
			s.t.Errorf("%s has no message: %s", where, text(all))
		}
	}
	for _, span := range s.spans.GetSpans() {
		check(span.Name, span.Attributes)
		for _, event := range span.Events {
			check(event.Name, event.Attributes)
		}
	}
}

// Each kind of call, hold and end has its spans and metrics.
func TestSpansAndMetrics(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		do      func(t *testing.T, d *harness.Deployment, c *redlock.Client)
		spans   []string
		metrics map[string]float64
	}{
		"a hold that is renewed": {func(t *testing.T, _ *harness.Deployment, c *redlock.Client) {
			lock, err := c.Lock(t.Context(), "job", redlock.WithTTL(30*time.Second))
			harness.Must(t, err)
			time.Sleep(25 * time.Second) // two renewals
			harness.Must(t, lock.Unlock(t.Context()))
		}, []string{
			"redlock lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.name=job}",
			"redlock hold Unset 25s {redlock.hold.end=released,redlock.hold.renewals=2,redlock.lock.mode=write,redlock.lock.name=job,redlock.lock.token=N}",
			"redlock unlock Unset 0s {redlock.lock.mode=write,redlock.lock.name=job}",
		}, map[string]float64{
			`redlock_hold_duration_seconds_sum{redlock_hold_end="released",redlock_lock_mode="write"}`: 25,
			`redlock_renewals_total{error_type="",redlock_lock_mode="write"}`:                          2,
			`redlock_held{redlock_lock_mode="write"}`:                                                  0,
			`redlock_unlock_duration_seconds_count{error_type=""}`:                                     1,
			`redlock_acquisition_duration_seconds_count{redlock_lock_mode="write"}`:                    1,
			`redlock_held{redlock_lock_name!=""}`:                                                      0,
		}},
		"calls that fail": {func(t *testing.T, d *harness.Deployment, c *redlock.Client) {
			held, err := d.Client().TryLock(t.Context(), "job")
			harness.Must(t, err)
			_, err = c.TryLock(t.Context(), "job")
			harness.RequireErr(t, err, redlock.ErrHeld)
			_, err = c.Lock(t.Context(), "job", redlock.WithWait(2*time.Second))
			harness.RequireErr(t, err, context.DeadlineExceeded)
			_, err = c.TryRLock(t.Context(), "job")
			harness.RequireErr(t, err, redlock.ErrHeld)
			harness.Must(t, held.Unlock(t.Context()))
		}, []string{ // a TryLock that is refused is no error
			"redlock try_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=held,redlock.call.waits=false,redlock.lock.mode=write,redlock.lock.name=job} redlock.attempt.failed",
			"redlock lock Error 2s {error.type=held,redlock.call.attempts=N,redlock.call.outcome=held,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.name=job} redlock.attempt.failed",
			"redlock try_read_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=held,redlock.call.waits=false,redlock.lock.mode=read,redlock.lock.name=job} redlock.attempt.failed",
		}, map[string]float64{
			`redlock_acquisitions_total{redlock_call_outcome="held",redlock_lock_mode="write"}`:        2,
			`redlock_wait_duration_seconds_sum{redlock_call_outcome="held",redlock_lock_mode="write"}`: 2,
			`redlock_acquisitions_total{redlock_call_outcome="held",redlock_lock_mode="read"}`:         1,
			`redlock_failed_attempts_total{error_type="held",redlock_lock_mode="read"}`:                1,
		}},
		"a loss": {func(t *testing.T, d *harness.Deployment, c *redlock.Client) {
			lock, err := c.TryLock(t.Context(), "job", redlock.WithTTL(30*time.Second))
			harness.Must(t, err)
			synctest.Wait()
			harness.All(d.Masters[:2], harness.Master.Die)
			<-lock.Context().Done()
			harness.RequireErr(t, lock.Unlock(t.Context()), redlock.ErrExpired)
			synctest.Wait()
		}, []string{
			"redlock try_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=false,redlock.lock.mode=write,redlock.lock.name=job}",
			"redlock hold Error 30s {error.type=expired,redlock.hold.end=expired,redlock.hold.renewals=0,redlock.lock.mode=write,redlock.lock.name=job,redlock.lock.token=N} redlock.renewal.failed",
			"redlock unlock Error 0s {error.type=expired,redlock.lock.mode=write,redlock.lock.name=job}",
		}, map[string]float64{
			`redlock_losses_total{redlock_hold_end="expired",redlock_lock_mode="write"}`: 1,
			`redlock_held{redlock_lock_mode="write"}`:                                    0,
			`redlock_unlock_duration_seconds_count{error_type="expired"}`:                1,
			`redlock_master_up`: 1, // one of three masters
		}},
		"an Unlock that takes long": {func(t *testing.T, d *harness.Deployment, c *redlock.Client) {
			lock, err := c.TryRLock(t.Context(), "job", redlock.WithTTL(30*time.Second))
			harness.Must(t, err)
			synctest.Wait()
			harness.All(d.Masters[:2], harness.Master.Freeze)
			bounded, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			harness.RequireErr(t, lock.Unlock(bounded), redlock.ErrNoQuorum)
		}, []string{
			"redlock try_read_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=false,redlock.lock.mode=read,redlock.lock.name=job}",
			"redlock hold Unset 0s {redlock.hold.end=released,redlock.hold.renewals=0,redlock.lock.mode=read,redlock.lock.name=job}",
			"redlock unlock Error 1s {error.type=no_quorum,redlock.lock.mode=read,redlock.lock.name=job}",
		}, map[string]float64{
			`redlock_unlock_duration_seconds_sum{error_type="no_quorum",redlock_lock_mode="read"}`: 0.5,
		}},
		"a set, a re-entry and a slot": {func(t *testing.T, _ *harness.Deployment, c *redlock.Client) {
			set, err := c.LockAll(t.Context(), []string{"a", "b"})
			harness.Must(t, err)
			again, err := c.TryLock(set.Context(), "a")
			harness.Must(t, err)
			harness.Must(t, again.Unlock(t.Context()))
			harness.Must(t, set.Unlock(t.Context()))
			slot, err := c.Lock(t.Context(), "c", redlock.WithSlots(1))
			harness.Must(t, err)
			harness.Must(t, slot.Unlock(t.Context()))
		}, []string{
			`redlock hold Unset 0s {redlock.hold.end=released,redlock.hold.renewals=0,redlock.lock.mode=write,redlock.lock.name=a,redlock.lock.token=N}`,
			`redlock hold Unset 0s {redlock.hold.end=released,redlock.hold.renewals=0,redlock.lock.mode=write,redlock.lock.name=b,redlock.lock.token=N}`,
			`redlock hold Unset 0s {redlock.hold.end=released,redlock.hold.renewals=0,redlock.lock.mode=write,redlock.lock.name=c~slot1,redlock.lock.slot=1,redlock.lock.token=N}`,
			`redlock lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.name=c,redlock.lock.slots=1}`,
			`redlock lock_all Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.names=["a","b"]}`,
			`redlock try_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=re-entered,redlock.call.waits=false,redlock.lock.mode=write,redlock.lock.name=a}`,
			`redlock unlock Unset 0s {redlock.lock.mode=write,redlock.lock.name=a}`,
			`redlock unlock Unset 0s {redlock.lock.mode=write,redlock.lock.name=c~slot1}`,
			`redlock unlock Unset 0s {redlock.lock.mode=write,redlock.lock.names=["a","b"]}`,
		}, map[string]float64{
			`redlock_acquisitions_total{redlock_call_outcome="re-entered"}`: 1,
			`redlock_acquisitions_total{redlock_call_outcome="acquired"}`:   2,
			`redlock_held`: 0,
		}},
	} {
		t.Run(what, func(t *testing.T) {
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				s := newTelemetry(t)
				c.do(t, d, s.client(d))
				slices.Sort(c.spans)
				if got := s.lines(); !slices.Equal(got, c.spans) {
					t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.spans, "\n"))
				}
				s.measured(c.metrics)
				s.checkAttributes()
			})
		})
	}
}

// The spans of call and hold are linked, and children of the caller's span. The span of the Unlock
// is a child of the Unlock's caller.
func TestSpanParents(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		s := newTelemetry(t)
		c := s.client(d)
		ctx, caller := s.tracers.Tracer("test").Start(t.Context(), "caller")
		lock, err := c.Lock(ctx, "job")
		harness.Must(t, err)
		if got := trace.SpanFromContext(lock.Context()); got.SpanContext().SpanID() != caller.SpanContext().SpanID() {
			t.Error("work under the lock is not under the caller's span")
		}
		unlocking, closer := s.tracers.Tracer("test").Start(t.Context(), "closer")
		harness.Must(t, lock.Unlock(unlocking))
		all := s.spans.GetSpans() // of the call, the hold and the Unlock
		for i, parent := range []trace.Span{caller, caller, closer} {
			if all[i].Parent.SpanID() != parent.SpanContext().SpanID() || all[i].Status.Code != codes.Unset {
				t.Errorf("%s has another parent, or failed: %v", all[i].Name, all[i].Status)
			}
		}
		if links := all[1].Links; len(links) != 1 || links[0].SpanContext.SpanID() != all[0].SpanContext.SpanID() {
			t.Errorf("the hold has links %v", links)
		}
	})
}

// Each of several observers makes its own spans, and ends no span of another.
func TestObserversTogether(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		first, own, last := newTelemetry(t), newTelemetry(t), newTelemetry(t)
		one := first.observer()
		c := d.Client(redlock.WithObserver(redlock.Observers(one, last.observer(), redlock.Observer{
			Started: func(ctx context.Context, _ redlock.LockCall) context.Context {
				ctx, _ = own.tracers.Tracer("test").Start(ctx, "own")
				return ctx
			},
			Finished: func(ctx context.Context, _ redlock.LockResult) { trace.SpanFromContext(ctx).End() },
		})))
		lock, err := c.Lock(t.Context(), "job")
		harness.Must(t, err)
		_, err = c.TryLock(t.Context(), "job")
		harness.RequireErr(t, err, redlock.ErrHeld)
		harness.Must(t, lock.Unlock(t.Context()))
		want := []string{
			"redlock hold Unset 0s {redlock.hold.end=released,redlock.hold.renewals=0,redlock.lock.mode=write,redlock.lock.name=job,redlock.lock.token=N}",
			"redlock lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=acquired,redlock.call.waits=true,redlock.lock.mode=write,redlock.lock.name=job}",
			"redlock try_lock Unset 0s {redlock.call.attempts=N,redlock.call.outcome=held,redlock.call.waits=false,redlock.lock.mode=write,redlock.lock.name=job} redlock.attempt.failed",
			"redlock unlock Unset 0s {redlock.lock.mode=write,redlock.lock.name=job}",
		}
		for of, lines := range map[*telemetry][]string{first: want, last: want, own: {"own Unset 0s {}", "own Unset 0s {}"}} {
			if got := of.lines(); !slices.Equal(got, lines) {
				t.Errorf("the spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
			}
		}

		twice := d.Client(redlock.WithObserver(redlock.Observers(one, one))) // makes no sense, but must not panic
		lock, err = twice.Lock(t.Context(), "job")
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

// Metrics have names of locks only with WithNames, and then the names of groups.
func TestMetricNames(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		s := newTelemetry(t)
		c := s.client(d, redlockotel.WithNames(func(name string) string { kind, _, _ := strings.Cut(name, ":"); return kind }))
		for i := range 3 {
			lock, err := c.TryLock(t.Context(), fmt.Sprint("order:", i))
			harness.Must(t, err)
			harness.Must(t, lock.Unlock(t.Context()))
		}
		s.measured(map[string]float64{
			`redlock_acquisitions_total{redlock_lock_name="order"}`:     3,
			`redlock_acquisitions_total{redlock_lock_name!="order"}`:    0,
			`redlock_hold_duration_seconds_count{redlock_lock_name=""}`: 0,
		})
	})
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	_, err := redlockotel.NewObserver(redlockotel.WithTracerProvider(nil), redlockotel.WithMeterProvider(nil), redlockotel.WithNames(nil), nil)
	harness.RequireErr(t, err, redlock.ErrBadOption)
	for _, field := range []string{"tracer provider", "meter provider", "names", "options[3]"} {
		if !strings.Contains(err.Error(), "invalid "+field+" <nil>") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// attempt returns the error of an acquisition that found no quorum, with these errors of masters.
func attempt(reason error, masters ...error) error {
	e := &redlock.QuorumError{Op: "acquire", Name: "job", Reason: reason}
	for _, err := range masters {
		e.Votes = append(e.Votes, redlock.Vote{Err: err})
	}
	return e
}

// Each error has one type. docs/OBSERVING.md lists the types, and the alert "no quorum" counts the types of a missing
// quorum.
func TestErrorTypes(t *testing.T) {
	t.Parallel()
	noQuorum := alerts(t)["no quorum"]
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
		want := map[string]float64{`redlock_failed_attempts_total{error_type="` + c.want + `"}`: 1, noQuorum: 0}
		if slices.Contains([]string{"no_quorum", "needs_init", "denied"}, c.want) {
			want[noQuorum] = 1
		}
		s.measured(want)
		typed[c.want] = true
	}

	page, err := os.ReadFile("../docs/OBSERVING.md")
	harness.Must(t, err)
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

// All exported errors of the lock have a type, except for errors that an observer does not get alone.
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
	source, err := os.ReadFile("../telemetry/telemetry.go")
	harness.Must(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), "../errors.go", nil, 0)
	harness.Must(t, err)
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
