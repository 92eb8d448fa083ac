package faulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

// allKeys returns the keys of all masters, except for the identities of clients.
func allKeys(d *harness.Deployment) string {
	d.T.Helper()
	var all []string
	for i, r := range d.Raw {
		keys, err := r.Keys(context.Background(), "*").Result()
		harness.Must(d.T, err)
		for _, key := range keys {
			if !strings.HasPrefix(key, limits.DefaultPrefix+":client:") {
				all = append(all, fmt.Sprint(i, " ", key))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// votesOf returns the masters' answers that an error has.
func votesOf(t *testing.T, err error) (answers []redlock.Answer) {
	t.Helper()
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		t.Fatalf("%v has no votes", err)
	}
	for _, v := range q.Votes {
		answers = append(answers, v.Answer)
	}
	return answers
}

func TestReady(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		d.Client() // founds the deployment
		before := allKeys(d)
		c := d.Client()
		harness.Must(t, c.Ready(context.Background()))
		harness.Settled(t, c)
		if after := allKeys(d); after != before {
			t.Errorf("Ready wrote:\n%s\nbefore:\n%s", after, before)
		}
		d.Masters[0].Die()
		d.Masters[4].Freeze()
		harness.Must(t, c.Ready(context.Background()))

		d.Masters[1].Die()
		start := time.Now()
		err := c.Ready(context.Background())
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		if errors.Is(err, redlock.ErrNotAcquired) || errors.Is(err, redlock.ErrNeedsInit) {
			t.Errorf("Ready asks for no lock, and the deployment is there: %v", err)
		}
		if q, _ := errors.AsType[*redlock.QuorumError](err); q.Op != "be ready" || q.Need != 3 {
			t.Errorf("%+v", q)
		}
		if votes := votesOf(t, err); votes[0] == redlock.Granted || votes[1] == redlock.Granted || votes[4] == redlock.Granted || !strings.Contains(err.Error(), "refused") {
			t.Errorf("of masters 0 and 1, which are down: %v", err)
		}
		if took := time.Since(start); took > limits.DefaultRequestTimeout {
			t.Errorf("it took %v", took)
		}
		d.Masters[0].Revive()
		harness.Eventually(t, "it is ready again", func() bool { return c.Ready(context.Background()) == nil })

		ended, cancel := context.WithCancelCause(context.Background())
		why := errors.New("why")
		cancel(why)
		harness.RequireErr(t, c.Ready(ended), context.Canceled, why)
		harness.Must(t, c.Close())
		harness.RequireErr(t, c.Ready(context.Background()), redlock.ErrClosed)
	})
}

// While a quorum hangs, Ready returns within the request timeout, even if it is a client's first call. It also returns
// as soon as ctx ends.
func TestReadyDoesNotHang(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		harness.Must(t, c.Ready(context.Background()))
		for i := range 2 {
			d.Masters[i].Freeze()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		harness.RequireErr(t, c.Ready(ctx), context.DeadlineExceeded)
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		for _, c := range []*redlock.Client{c, d.Client()} {
			start := time.Now()
			harness.RequireErr(t, c.Ready(context.Background()), redlock.ErrNoQuorum)
			if took := time.Since(start); took > limits.DefaultRequestTimeout {
				t.Errorf("it took %v", took)
			}
		}
	})
}

func TestReadyReportsMismatch(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		err := d.Stranger().Ready(context.Background())
		harness.RequireErr(t, err, redlock.ErrNeedsInit, redlock.ErrNoQuorum)
		if !slices.Equal(votesOf(t, err), []redlock.Answer{redlock.Refused, redlock.Refused, redlock.Refused}) {
			t.Errorf("masters that belong to nothing: %v", err)
		}
		harness.Must(t, admin.Init(context.Background(), d.Stranger(), 0))
		harness.Must(t, d.Stranger().Ready(context.Background()))
		harness.RequireOptionError(t, d.Stranger(redlock.WithMaxTTL(time.Hour)).Ready(context.Background()), "max ttl")
		harness.RequireOptionError(t, d.Stranger(redlock.WithDrift(0.001)).Ready(context.Background()), "drift")
		harness.Must(t, harness.MustTry(t, d.Stranger(redlock.WithDrift(0.02)), "job").Unlock(context.Background()))

		for i := range 2 {
			d.Masters[i].Die()
			d.Masters[i].(harness.EmbeddedMaster).FlushAll()
			d.Masters[i].Revive()
		}
		c := d.Stranger()
		harness.Eventually(t, "it is known that a majority lost its data", func() bool { return errors.Is(c.Ready(context.Background()), redlock.ErrNeedsInit) })
	})
}

// A master that refuses writes because of its state is reported as down once, and as up once afterwards, even if nobody
// asks for a lock. Meanwhile Ready returns an error.
func TestMastersRefusingWritesAreReported(t *testing.T) {
	t.Parallel()
	type state struct {
		text       string
		begin, end func(t *testing.T, d *harness.Deployment, i int)
	}
	config := func(name, bad, good string) (begin, end func(*testing.T, *harness.Deployment, int)) {
		set := func(value string) func(*testing.T, *harness.Deployment, int) {
			return func(t *testing.T, d *harness.Deployment, i int) {
				harness.Must(t, d.Raw[i].ConfigSet(context.Background(), name, value).Err())
			}
		}
		return set(bad), set(good)
	}
	full, empty := config("maxmemory", "1", "0")
	alone, enough := config("min-replicas-to-write", "1", "0")
	busy := func(on bool) func(*testing.T, *harness.Deployment, int) {
		return func(_ *testing.T, d *harness.Deployment, i int) { d.Masters[i].(harness.EmbeddedMaster).SetBusy(on) }
	}
	report := func(s state) func(t *testing.T, d *harness.Deployment) {
		return func(t *testing.T, d *harness.Deployment) {
			watched := func(events *harness.Recorder) redlock.Option {
				return redlock.WithObserver(redlock.Observer{
					MasterDown: func(m redlock.MasterStatus) { events.Note("down %s", m.Err) },
					MasterUp:   func(redlock.MasterStatus) { events.Note("up") },
				})
			}
			var events, late harness.Recorder
			c := d.Reached(watched(&events), redlock.WithRequestTimeout(d.Request()))
			for i := range 2 {
				s.begin(t, d, i)
			}
			for range 10 {
				harness.RequireErr(t, harness.MustFail(t, c, "job"), redlock.ErrNotAcquired) // the third master may still have an earlier grant of c
			}
			if down := events.Count("down " + s.text); down != 2 || events.Count("down") != 2 || events.Count("up") != 3 {
				t.Errorf("reported: %q", events.Events())
			}
			if err := c.Ready(context.Background()); !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), s.text) {
				t.Errorf("ready: %v", err)
			}
			other := d.Client(watched(&late), redlock.WithRequestTimeout(d.Request())) // this client detects the refusal without a lock
			harness.Eventually(t, "it is not ready, and why", func() bool {
				err := other.Ready(context.Background())
				return err != nil && strings.Contains(err.Error(), s.text)
			})
			for i := range 2 {
				s.end(t, d, i)
			}
			for _, c := range []*redlock.Client{c, other} {
				harness.Eventually(t, "it is ready", func() bool { return c.Ready(context.Background()) == nil })
			}
			harness.Eventually(t, "all are up again", func() bool { return events.Count("up") == 5 })
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			if events.Count("down") != 2 || events.Count("up") != 5 || late.Count("down") != 2 {
				t.Errorf("reported: %q, %q", events.Events(), late.Events())
			}
		}
	}
	for name, s := range map[string]state{"full": {"OOM", full, empty}, "busy": {"BUSY", busy(true), busy(false)}} {
		harness.RunInVirtualTime(t, name+", embedded", 3, report(s))
	}
	for name, s := range map[string]state{"full": {"OOM", full, empty}, "without replicas": {"NOREPLICAS", alone, enough}} {
		t.Run(name, func(t *testing.T) {
			harness.OnProcesses(t, 3, report(s))
		})
	}
}
