package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func TestCheckJudgesTheMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds []float64
		wanted bound
		limit  float64
		ok     bool
	}{
		{[]float64{.6, .71, .72}, atLeast, .7, true},
		{[]float64{.6, .7, .9}, atLeast, .7, true},
		{[]float64{.6, .69, .9}, atLeast, .7, false}, // though a round was above
		{[]float64{.1, .1, .1}, atLeast, 0, true},
		{[]float64{40, 41, 50}, atMost, 41, true},
		{[]float64{30, 42, 43}, atMost, 41, false},
	} {
		var out strings.Builder
		if err := judge(&out, "figure", c.rounds, c.wanted, c.limit); (err == nil) != c.ok {
			t.Errorf("%v, %s %v: %v, want ok %t", c.rounds, c.wanted, c.limit, err, c.ok)
		}
	}
}

func TestMain(m *testing.M) {
	for name, fail := range map[string]error{"test-sound": nil, "test-failing": errors.New("refused")} {
		contender.All = append(contender.All, contender.Contender{Name: name, Open: func([]string) (contender.Client, error) { return &unsound{fail: fail}, nil }})
	}
	child.Main(workload.Roles)
	os.Exit(m.Run())
}

// A speed with errors in it says nothing: the check fails.
func TestCheckNeedsSoundCells(t *testing.T) {
	t.Parallel()
	on := &server.Running{PIDs: func() []int { return nil }}
	for name, want := range map[string]string{"test-sound": "", "test-failing": "calls failed, the first: refused"} {
		cell, err := measureSound(workload.Workload{Workers: 1}, name, on)
		if cell.PerSecond == 0 {
			t.Errorf("%s: nothing was had: %v", name, err)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// unsound is a client of one worker. It has every lock at once, but for every second after the
// first, by which a worker gets ready, if those fail.
type unsound struct {
	fail  error
	calls int
}

func (u *unsound) Lock(context.Context, string, bool) (contender.Held, error) {
	time.Sleep(time.Millisecond)
	u.calls++
	if u.calls%2 == 0 && u.fail != nil {
		return nil, u.fail
	}
	return u, nil
}

func (u *unsound) Token() uint64                { return uint64(u.calls) }
func (u *unsound) Unlock(context.Context) error { return nil }
func (u *unsound) Close() error                 { return nil }
