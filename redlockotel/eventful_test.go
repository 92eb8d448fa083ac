package redlockotel_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/redlockotel"
)

// eventful lets a client with an observer of these options meet all that the dashboard and the
// alerts are about: a refusal, renewals, a clock that jumps, a master that lost its data, masters
// that are killed, renewals that fail, losses, and calls without a quorum. It calls atRest while
// the client has its holds and nothing has happened to them, and afterwards at the end.
func eventful(t *testing.T, opts []redlockotel.Option, atRest, afterwards func(*testing.T, *prometheus.Registry)) {
	t.Helper()
	testmasters.Virtual(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		d.Addresses = []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}
		o, registry := exporting(t, opts...)
		c := d.Client(redlock.WithObserver(o))
		lock, err := c.Lock(t.Context(), "job", redlock.WithTTL(30*time.Second))
		must(t, err)
		reading, err := c.RLock(t.Context(), "rates")
		must(t, err)
		synctest.Wait()
		atRest(t, registry)

		_, err = c.TryLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrHeld)
		d.Embedded[0].SetClock(5 * time.Second)
		time.Sleep(15 * time.Second) // a renewal
		d.Embedded[1].Kill(true)
		must(t, d.Embedded[1].Restart())
		time.Sleep(15 * time.Second)
		d.Embedded[1].Kill(false)
		d.Embedded[2].Kill(false)
		<-lock.Context().Done()
		<-reading.Context().Done()
		time.Sleep(3 * time.Minute) // the master that is left has the lock no more, and the others are told to be out
		_, err = c.TryLock(t.Context(), "job")
		requireErr(t, err, redlock.ErrNoQuorum)
		requireErr(t, lock.Unlock(t.Context()), redlock.ErrExpired)
		requireErr(t, reading.Unlock(t.Context()), redlock.ErrExpired)
		synctest.Wait()
		afterwards(t, registry)
	})
}

// What the dashboard and the alerts ask for is there after a real run, with the labels by which
// they group it.
func TestQueriesFindWhatARunMeasures(t *testing.T) {
	t.Parallel()
	queries := alerts(t)
	for _, p := range readBoard(t).Panels {
		for _, target := range p.Targets {
			queries[p.Title+": "+target.Expr] = target.Expr
		}
	}
	byHand := exported(t)
	atRest := func(*testing.T, *prometheus.Registry) {}
	eventful(t, nil, atRest, func(t *testing.T, registry *prometheus.Registry) {
		if got := gathered(t, registry); !reflect.DeepEqual(got, byHand) {
			t.Errorf("a run measures %v; events made by hand %v", got, byHand)
		}
		for where, query := range queries {
			found := selects(t, registry, query)
			mayBeZero := strings.Contains(query, "redlock_master_up") || strings.Contains(query, "redlock_held")
			happened := func(s series) bool { return mayBeZero || s.value > 0 }
			if !slices.ContainsFunc(found, happened) {
				t.Errorf("%s: %s has measured nothing: %v", where, query, found)
			}
			for _, by := range grouped.FindAllStringSubmatch(query, -1) {
				for _, l := range label.FindAllString(by[1], -1) {
					without := func(s series) bool { return s.labels[l] == "" }
					if slices.ContainsFunc(found, without) {
						t.Errorf("%s: it groups by %s, which not all have: %v", where, l, found)
					}
				}
			}
		}
	})
}

// The fields of a legend are the labels that its query leaves: no field is empty, and no two lines
// have one legend.
func TestLegendsNameWhatTheQueryGroupsBy(t *testing.T) {
	t.Parallel()
	field := regexp.MustCompile(`\{\{([^}]*)\}\}`)
	found := 0
	for _, p := range readBoard(t).Panels {
		for _, target := range p.Targets {
			var left, named []string
			if outermost := aggregation.FindStringSubmatch(target.Expr); outermost != nil {
				left = label.FindAllString(outermost[1], -1)
			}
			if strings.HasPrefix(target.Expr, "histogram_quantile(") {
				left = slices.DeleteFunc(left, func(l string) bool { return l == "le" })
			}
			for _, match := range field.FindAllStringSubmatch(target.LegendFormat, -1) {
				named = append(named, match[1])
			}
			slices.Sort(left)
			slices.Sort(named)
			if !slices.Equal(left, named) {
				t.Errorf("%s: the legend %q names %v; %s leaves %v", p.Title, target.LegendFormat, named, target.Expr, left)
			}
			found += len(named)
		}
	}
	if found < 10 {
		t.Errorf("%d fields", found)
	}
}
