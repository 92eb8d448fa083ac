package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func TestCheckJudgesTheMedian(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		wanted bound
		limit  float64
		ok     bool
	}{
		{[]float64{.6, .71, .72}, atLeast, .7, true},
		{[]float64{.6, .7, .9}, atLeast, .7, true},
		{[]float64{.6, .69, .9}, atLeast, .7, false}, // within the interval, which reaches .9
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

// A speed with errors in it says nothing: the check fails.
func TestCheckNeedsSoundCells(t *testing.T) {
	refused := errors.New("refused")
	for _, c := range []struct {
		name string
		fail error // of every second call, after the first, by which a worker gets ready
		want string
	}{
		{"test-sound", nil, ""},
		{"test-failing", refused, "calls failed, the first: refused"},
	} {
		contender.All = append(contender.All, contender.Contender{Name: c.name, Open: func([]string) (contender.Client, error) { return &unsound{fail: c.fail}, nil }})
		cell, err := measureSound(workload.Workload{Name: c.name, Workers: 1}, contender.ByName(c.name), &server.Running{})
		if cell.PerSecond == 0 {
			t.Errorf("%s: nothing was had: %v", c.name, err)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// unsound is a client of one worker. It has every lock at once, but for those that fail.
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
