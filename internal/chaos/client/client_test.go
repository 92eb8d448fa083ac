package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
	"github.com/redlock-go/redlock/internal/testdb"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testdb.Stop()
	os.Exit(code)
}

// The history of a client that nothing happened to is whole: what began has ended, and every entry
// was left.
func TestHistoryOfAClient(t *testing.T) {
	clock := history.StartClock()
	t.Setenv(history.ClockEnv, clock.String())
	dir := t.TempDir()
	c := config{
		Settings: work.Settings{
			Number: 2, Life: 3, Seed: 1, Workers: 3, Names: []string{"a", "b"},
			TTL: time.Second, MaxTTL: 2 * time.Second, Patience: 5 * time.Second, Probe: 50 * time.Millisecond,
		},
		request: 500 * time.Millisecond,
		stores:  places{redis: startRedis(t)},
		history: filepath.Join(dir, "c2-3"+history.Ext),
	}
	var founders []string
	for range 3 {
		url := startRedis(t)
		founders = append(founders, url)
		c.masters = append(c.masters, both(url))
	}
	found(t, founders...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := run(ctx, c); err != nil {
		t.Fatal(err)
	}
	events, err := history.NewReader(dir).Read()
	if err != nil {
		t.Fatal(err)
	}

	count := map[history.Kind]int{}
	probes := 0
	values := map[int64]int64{} // to the call that wrote it
	for _, e := range events {
		count[e.Kind]++
		if e.Client != "c2" || e.Call < 1 || e.Name == "" {
			t.Fatalf("%+v has no client, call or name", e)
		}
		switch e.Kind {
		case history.LockHeld, history.Renewed:
			ttl := c.TTL
			if strings.Contains(e.Name, "-of-c2-") {
				ttl = c.MaxTTL // a probe's
			}
			if work.IsProbe(e.Name) {
				probes++
			}
			if e.Token == 0 || e.Until <= e.At-ttl || e.Until > e.At+ttl {
				t.Errorf("%+v: the lease is not one of %v", e, ttl)
			}
		case history.WriteBegins:
			if other, twice := values[e.Value]; twice || e.Token == 0 || e.Store == "" {
				t.Errorf("%+v has no token or store, or the value of call %d", e, other)
			}
			values[e.Value] = e.Call
		}
	}
	for begin, ends := range map[history.Kind][]history.Kind{
		history.LockBegins:   {history.LockHeld, history.LockFailed},
		history.LockHeld:     {history.UnlockBegins},
		history.UnlockBegins: {history.UnlockEnds},
		history.WriteBegins:  {history.WriteEnds},
		history.ReadBegins:   {history.ReadEnds},
	} {
		n := 0
		for _, end := range ends {
			n += count[end]
		}
		if count[begin] == 0 || count[begin] != n {
			t.Errorf("%d times %q, and %d times its end", count[begin], begin, n)
		}
	}
	if probes == 0 {
		t.Error("nothing was probed")
	}
	if count[history.Renewed] == 0 {
		t.Errorf("counted %v: want holds that were renewed", count)
	}
}

// both returns the master at url as one that has no front.
func both(url string) string {
	address := strings.TrimPrefix(url, "redis://")
	return address + "=" + address
}

// found founds a deployment of masters.
func found(t *testing.T, urls ...string) {
	t.Helper()
	founder, err := redlock.Open(urls, redlock.WithMaxTTL(2*time.Second))
	if err == nil {
		err = errors.Join(admin.Init(t.Context(), founder, 0), founder.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotRun(t *testing.T) {
	dir := t.TempDir()
	good := config{masters: list{"127.0.0.1:1=127.0.0.1:1"}, stores: places{redis: "redis://127.0.0.1:1"}, request: 100 * time.Millisecond,
		Settings: work.Settings{TTL: 400 * time.Millisecond, MaxTTL: time.Second}}
	for _, c := range []struct {
		name, clock string
		change      func(*config)
	}{
		{"clock", "", func(*config) {}},
		{"store", "0", func(c *config) { c.stores.redis = "nonsense" }},
		{"masters", "0", func(c *config) { c.masters = list{"nonsense"} }},
		{"master twice", "0", func(c *config) { c.masters = append(c.masters, c.masters[0]) }},
		{"folder", "0", func(c *config) { c.history = filepath.Join(dir, "none", "c0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(history.ClockEnv, c.clock)
			bad := good
			bad.history = filepath.Join(dir, c.name)
			c.change(&bad)
			if err := run(t.Context(), bad); err == nil {
				t.Error("it ran")
			}
		})
	}
}
