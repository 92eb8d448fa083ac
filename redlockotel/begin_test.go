package redlockotel_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/redlockotel"
)

// What alerts count of locks is there before there is a lock; with names, from the first hold of a
// name.
func TestCountersOfLocksBeginWithZero(t *testing.T) {
	t.Parallel()
	want := func(mode, name string) map[string]string {
		all := map[string]string{}
		for _, end := range []string{"lost", "expired"} {
			all[fmt.Sprintf("redlock.losses{redlock.hold.end=%s,%s%s}", end, mode, name)] = "0"
		}
		for _, reason := range []string{"no_quorum", "needs_init", "denied"} {
			all[fmt.Sprintf("redlock.renewals{error.type=%s,%s%s}", reason, mode, name)] = "0"
			all[fmt.Sprintf("redlock.failed_attempts{error.type=%s,%s%s}", reason, mode, name)] = "0"
		}
		return all
	}
	s := newTelemetry(t)
	s.observer()
	s.measured(want("redlock.lock.mode=write", ""))
	s.measured(want("redlock.lock.mode=read", ""))

	identity := func(name string) string { return name }
	named := newTelemetry(t)
	o := named.observer(redlockotel.WithNames(identity))
	if all := named.metrics(); len(all) > 0 {
		t.Errorf("measured of no name: %v", all)
	}
	acquire := func(name string, reads bool) {
		ctx := o.Started(t.Context(), redlock.LockCall{Names: []string{name}, Reads: reads})
		o.Acquired(ctx, redlock.Acquisition{Hold: redlock.Hold{Name: name, Reads: reads}})
	}
	acquire("job", false)
	acquire("rates", true)
	named.measured(want("redlock.lock.mode=write", ",redlock.lock.name=job"))
	named.measured(want("redlock.lock.mode=read", ",redlock.lock.name=rates"))
	refused := o.Started(t.Context(), redlock.LockCall{Names: []string{"held"}})
	o.AttemptFailed(refused, redlock.FailedAttempt{Name: "held", Err: redlock.ErrHeld})
	named.measured(want("redlock.lock.mode=write", ",redlock.lock.name=held"))
}

var namings = map[string][]redlockotel.Option{
	"without names": nil,
	"with names":    {redlockotel.WithNames(func(name string) string { return name })},
}

// The first loss is an increase: the series was there with 0 before.
func TestFirstLossIsAnIncrease(t *testing.T) {
	t.Parallel()
	for what, opts := range namings {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
				o, registry := exporting(t, opts...)
				lock, err := d.Client(redlock.WithObserver(o)).TryLock(t.Context(), "job")
				must(t, err)
				synctest.Wait()
				query := `redlock_losses_total{redlock_hold_end="expired",redlock_lock_mode="write"}`
				if got := selects(t, registry, query); len(got) != 1 || got[0].value != 0 {
					t.Errorf("before a loss: %v", got)
				}
				d.Embedded[0].Kill(false)
				d.Embedded[1].Kill(false)
				<-lock.Context().Done()
				synctest.Wait()
				if got := selects(t, registry, query); len(got) != 1 || got[0].value != 1 {
					t.Errorf("after a loss: %v", got)
				}
			})
		})
	}
}

// Each series that makes an alert fire was there with 0 before its first event.
func TestAlertsSeeTheFirstEvent(t *testing.T) {
	t.Parallel()
	for what, opts := range namings {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			counters := map[string]string{}
			for name, query := range alerts(t) {
				if strings.Contains(query, "_total") {
					counters[name] = query
				}
			}
			if len(counters) < 5 {
				t.Errorf("%d alerts on counters", len(counters))
			}
			before := map[string][]series{}
			atRest := func(t *testing.T, registry *prometheus.Registry) {
				for name, query := range counters {
					before[name] = selects(t, registry, query)
				}
			}
			eventful(t, opts, atRest, func(t *testing.T, registry *prometheus.Registry) {
				for name, query := range counters {
					happened := false
					for _, s := range selects(t, registry, query) {
						zero := func(b series) bool { return b.value == 0 && maps.Equal(b.labels, s.labels) }
						if s.value > 0 && !slices.ContainsFunc(before[name], zero) {
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
