package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
)

func TestBench(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 5)
	masters[4].Kill() // its error is told, and the others do
	r := redlockEnds(t, "bench", mastersFlag(masters), "--workers=4", "--duration=1s", "--json")
	r.wants(t, exitOK)
	var report benchReport
	harness.Must(t, json.Unmarshal([]byte(r.stdout), &report))
	for _, p := range []*benchPart{report.Uncontended, report.Throughput, report.HandOver} {
		if p.Acquisitions == 0 || p.PerSecond <= 0 || p.Acquire.P50 <= 0 || p.Acquire.P99 < p.Acquire.P50 || p.Release.P50 <= 0 {
			t.Errorf("figures are missing: %+v", p)
		}
	}
	if report.HandOver.HandOver == nil || report.HandOver.HandOver.P50 <= 0 || report.Throughput.HandOver != nil {
		t.Errorf("hand-over: %s", r.stdout)
	}
	for i, m := range report.Masters {
		if m.Master != masters[i].Addr() || (m.Error == "") != (i < 4) || (m.RTT.P50 > 0) != (i < 4) {
			t.Errorf("master %d: %+v", i, m)
		}
	}
	for _, s := range masters[:4] {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		defer c.Close()
		keys, err := c.Keys(t.Context(), "*"+benchPrefix+"*").Result()
		harness.Must(t, err)
		for _, key := range keys {
			kind, ttl := c.Type(t.Context(), key).Val(), c.PTTL(t.Context(), key).Val()
			most := time.Minute
			if strings.Contains(key, ":offer:") {
				kind, most = "offer", time.Second
			}
			if kind == "string" {
				t.Errorf("%s has %s yet", s.Addr(), key)
			} else if ttl > most || ttl == -1 {
				t.Errorf("%s has %s for %v", s.Addr(), key, ttl)
			}
		}
	}
	says(t, "for people", redlockEnds(t, "bench", mastersFlag(masters), "--workers=2", "--duration=1s").stdout,
		masters[0].Addr(), "refused", "uncontended", "throughput", "hand-over")
}

func TestBenchEnds(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	bench := start(t, command(t, "bench", mastersFlag(masters), "--duration=1m"))
	c := redis.NewClient(&redis.Options{Addr: masters[0].Addr()})
	defer c.Close()
	harness.Eventually(t, "it locks", func() bool {
		keys, err := c.Keys(t.Context(), "*"+benchPrefix+"*").Result()
		harness.Must(t, err)
		return len(keys) > 0
	})
	bench.signal(syscall.SIGTERM)
	if status := bench.status(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d", status)
	}

	const one = "--masters=redis://127.0.0.1:1"
	for says, args := range map[string][]string{
		"invalid --workers 1: must be from 2 to 128":      {one, "--workers=1"},
		"invalid --workers 129: must be from 2 to 128":    {one, "--workers=129"},
		"invalid --duration 0s: must be from 1s to 10m0s": {one, "--duration=0s"},
		"invalid --duration 1h0m0s: must be from 1s":      {one, "--duration=1h"},
		"--masters is missing":                            nil,
	} {
		r := redlockEnds(t, append([]string{"bench"}, args...)...)
		r.wants(t, exitUsage)
		if !strings.Contains(r.stderr, says) {
			t.Errorf("%q: %s", args, r.stderr)
		}
	}
	r := redlockEnds(t, "bench", one, "--json")
	r.wants(t, exitUnavailable)
	if got := decodeAs[benchReport](t, r.stdout); got.Error == "" || got.Uncontended != nil || got.Masters == nil || !strings.Contains(r.stderr, "no quorum") {
		t.Errorf("without a quorum: stdout %s, stderr %s", r.stdout, r.stderr)
	}
	redlockEnds(t, "bench", mastersFlag(blankMasters(t, 3))).wants(t, exitUnavailable)
}

func TestBenchFigures(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	turns := []turn{
		{at(1), at(14), at(20), at(21)},  // waited 13, hand-over 4
		{at(0), at(2), at(10), at(11)},   // waited 2
		{at(21), at(22), at(40), at(43)}, // asked when it was free: no hand-over
	}
	got := figures(turns, 2*time.Second, true)
	want := &benchPart{Acquisitions: 3, PerSecond: 1.5, Acquire: percentiles{2000, 2000}, Release: percentiles{1000, 1000}, HandOver: &percentiles{4000, 4000}}
	if *got.HandOver != *want.HandOver {
		t.Errorf("hand-over: got %+v, want %+v", *got.HandOver, *want.HandOver)
	}
	if got.HandOver, want.HandOver = nil, nil; *got != *want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var times []time.Duration
	for i := range 101 {
		times = append(times, time.Duration(100-i)*time.Microsecond)
	}
	if got := percentilesOf(times); got != (percentiles{50, 99}) {
		t.Errorf("got %+v", got)
	}
}
