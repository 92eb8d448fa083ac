package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/limits"
)

// allKeys are the keys of all masters, but those that tell who clients are.
func (d *deployment) allKeys() string {
	d.t.Helper()
	var all []string
	for i, r := range d.raw {
		keys, err := r.Keys(background, "*").Result()
		must(d.t, err)
		for _, key := range keys {
			if !strings.HasPrefix(key, limits.DefaultPrefix+":client:") {
				all = append(all, fmt.Sprint(i, " ", key))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// votesOf returns what each master said.
func votesOf(t *testing.T, err error) (answers []Answer) {
	t.Helper()
	q, ok := errors.AsType[*QuorumError](err)
	if !ok {
		t.Fatalf("%v has no votes", err)
	}
	for _, v := range q.Votes {
		answers = append(answers, v.Answer)
	}
	return answers
}

func TestReady(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		d.client() // founds it
		before := d.allKeys()
		c := d.client()
		must(t, c.Ready(background))
		settled(t, c)
		if after := d.allKeys(); after != before {
			t.Errorf("Ready wrote:\n%s\nbefore:\n%s", after, before)
		}
		d.masters[0].die()
		d.masters[4].freeze()
		must(t, c.Ready(background))

		d.masters[1].die()
		start := time.Now()
		err := c.Ready(background)
		requireErr(t, err, ErrNoQuorum)
		if errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrNeedsInit) {
			t.Errorf("Ready asks for no lock, and the deployment is there: %v", err)
		}
		if q, _ := errors.AsType[*QuorumError](err); q.Op != opReady || q.Need != 3 {
			t.Errorf("%+v", q)
		}
		if said := votesOf(t, err); said[0] == Granted || said[1] == Granted || said[4] == Granted || !strings.Contains(err.Error(), "refused") {
			t.Errorf("of masters 0 and 1, which are down: %v", err)
		}
		if took := time.Since(start); took > limits.DefaultRequestTimeout {
			t.Errorf("it took %v", took)
		}
		d.masters[0].revive()
		eventually(t, "it is ready again", func() bool { return c.Ready(background) == nil })

		ended, cancel := context.WithCancelCause(background)
		why := errors.New("why")
		cancel(why)
		requireErr(t, c.Ready(ended), context.Canceled, why)
		must(t, c.Close())
		requireErr(t, c.Ready(background), ErrClosed)
	})
}

// A quorum hangs: the answer comes within the request timeout, also when nothing is known yet, and
// at the end of ctx.
func TestReadyDoesNotHang(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		must(t, c.Ready(background))
		for i := range 2 {
			d.masters[i].freeze()
		}
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		requireErr(t, c.Ready(ctx), context.DeadlineExceeded)
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		for _, c := range []*Client{c, d.client()} {
			start := time.Now()
			requireErr(t, c.Ready(background), ErrNoQuorum)
			if took := time.Since(start); took > limits.DefaultRequestTimeout {
				t.Errorf("it took %v", took)
			}
		}
	})
}

func TestReadySaysWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		err := d.stranger().Ready(background)
		requireErr(t, err, ErrNeedsInit, ErrNoQuorum)
		if !slices.Equal(votesOf(t, err), []Answer{Refused, Refused, Refused}) {
			t.Errorf("masters that belong to nothing: %v", err)
		}
		must(t, d.stranger().found(background, 0))
		must(t, d.stranger().Ready(background))
		requireOptionError(t, d.stranger(WithMaxTTL(time.Hour)).Ready(background), "max ttl")

		for i := range 2 {
			d.masters[i].die()
			d.masters[i].(embeddedMaster).FlushAll()
			d.masters[i].revive()
		}
		c := d.stranger()
		eventually(t, "it is known that a majority lost its data", func() bool { return errors.Is(c.Ready(background), ErrNeedsInit) })
	})
}

// Masters that answer, and refuse what writes for the state that they are in, are told once as down, and once as up when that
// is over, also when nobody locks. Ready says so. They passed for healthy.
func TestMastersThatRefuseWritesAreTold(t *testing.T) {
	t.Parallel()
	type state struct {
		says       string
		begin, end func(t *testing.T, d *deployment, i int)
	}
	config := func(name, bad, good string) (begin, end func(*testing.T, *deployment, int)) {
		set := func(value string) func(*testing.T, *deployment, int) {
			return func(t *testing.T, d *deployment, i int) { must(t, d.raw[i].ConfigSet(background, name, value).Err()) }
		}
		return set(bad), set(good)
	}
	full, empty := config("maxmemory", "1", "0")
	alone, enough := config("min-replicas-to-write", "1", "0")
	busy := func(on bool) func(*testing.T, *deployment, int) {
		return func(_ *testing.T, d *deployment, i int) { d.masters[i].(embeddedMaster).SetBusy(on) }
	}
	told := func(s state) func(t *testing.T, d *deployment) {
		return func(t *testing.T, d *deployment) {
			watched := func(events *recorder) Option {
				return WithObserver(Observer{
					MasterDown: func(m MasterStatus) { events.note("down %s", m.Err) },
					MasterUp:   func(MasterStatus) { events.note("up") },
				})
			}
			var events, late recorder
			c := d.reached(watched(&events), WithRequestTimeout(d.request()))
			for i := range 2 {
				s.begin(t, d, i)
			}
			for range 10 {
				requireErr(t, c.mustFail(t, "job"), ErrNotAcquired) // its own grants on the third may not be given back yet
			}
			if down := events.count("down " + s.says); down != 2 || events.count("down") != 2 || events.count("up") != 3 {
				t.Errorf("what is told: %q", events.events)
			}
			if err := c.Ready(background); !errors.Is(err, ErrNoQuorum) || !strings.Contains(err.Error(), s.says) {
				t.Errorf("ready: %v", err)
			}
			other := d.client(watched(&late), WithRequestTimeout(d.request())) // finds it out without a lock
			eventually(t, "it is not ready, and why", func() bool {
				err := other.Ready(background)
				return err != nil && strings.Contains(err.Error(), s.says)
			})
			for i := range 2 {
				s.end(t, d, i)
			}
			for _, c := range []*Client{c, other} {
				eventually(t, "it is ready", func() bool { return c.Ready(background) == nil })
			}
			eventually(t, "all are up again", func() bool { return events.count("up") == 5 })
			must(t, mustTry(t, c, "job").Unlock(background))
			if events.count("down") != 2 || events.count("up") != 5 || late.count("down") != 2 {
				t.Errorf("what is told: %q, %q", events.events, late.events)
			}
		}
	}
	for name, s := range map[string]state{"full": {"OOM", full, empty}, "busy": {"BUSY", busy(true), busy(false)}} {
		t.Run(name+", embedded", func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, told(s))
		})
	}
	for name, s := range map[string]state{"full": {"OOM", full, empty}, "without replicas": {"NOREPLICAS", alone, enough}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onProcesses(t, 3, told(s))
		})
	}
}
