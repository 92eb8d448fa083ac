package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts masters of an engine for the test. Where the machine has no such engine the test
// does not run, except in CI, where it fails.
func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	cfg.Log = t.Output()
	c, err := Start(t.Context(), cfg)
	testskip.IfLacking(t, err, ErrNoDocker, redisproc.ErrNotInstalled)
	check(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// eachEngine runs the test on both engines, with -short on processes.
func eachEngine(t *testing.T, cfg Config, test func(t *testing.T, c *Cluster)) {
	for _, e := range []Engine{Process, Docker} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && e == Docker {
				t.Skip("NOT RUN with -short: the same on containers")
			}
			cfg := cfg
			cfg.Engine = e
			c := start(t, cfg)
			if c.Engine() != e {
				t.Errorf("the engine is %s", c.Engine())
			}
			test(t, c)
		})
	}
}

func do1(t *testing.T, m Master, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	reply, err := m.Do(ctx, args...)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(reply)
}

// want compares what the server says to a command.
func want(t *testing.T, m Master, reply, command string) {
	t.Helper()
	if got := do1(t, m, command); got != reply {
		t.Errorf("%s on %s: %q, want %q", command, m.Name(), got, reply)
	}
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		addr := m.Addr()
		want(t, m, "[appendfsync always]", "config get appendfsync")
		want(t, m, "[maxmemory-policy noeviction]", "config get maxmemory-policy")
		want(t, m, "OK", "set a 1")
		want(t, m, "OK", "set b 2")
		if err := m.Wipe(); !errors.Is(err, ErrRunning) {
			t.Errorf("Wipe of a running master: %v", err)
		}
		if err := m.Truncate(1); !errors.Is(err, ErrRunning) {
			t.Errorf("Truncate of a running master: %v", err)
		}

		check(t, m.Kill())
		check(t, m.Kill())
		if m.Running() {
			t.Error("running after Kill")
		}
		if err := m.Freeze(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Freeze of a dead master: %v", err)
		}
		check(t, m.Thaw())
		if got := do1(t, m, "ping"); !strings.Contains(got, "refused") {
			t.Errorf("a dead master says %q", got)
		}
		check(t, m.Start())
		check(t, m.Start())
		if !m.Running() || m.Addr() != addr {
			t.Errorf("after Start: running %t on %s, was on %s", m.Running(), m.Addr(), addr)
		}
		want(t, m, "1", "get a")
		want(t, m, "2", "get b")

		check(t, m.Kill())
		check(t, m.Truncate(3))
		check(t, m.Start())
		want(t, m, "1", "get a")
		want(t, m, "redis: nil", "get b")

		check(t, m.Kill())
		check(t, m.Wipe())
		check(t, m.Start())
		want(t, m, "0", "dbsize")
	})
}

func TestBackup(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := m.Restore(); !errors.Is(err, ErrNoBackup) {
			t.Errorf("Restore without a backup: %v", err)
		}
		restore := func() {
			t.Helper()
			check(t, m.Kill())
			check(t, m.Restore())
			check(t, m.Start())
		}
		want(t, m, "OK", "set a 1")
		check(t, m.Backup())
		if err := m.Restore(); !errors.Is(err, ErrRunning) {
			t.Errorf("Restore of a running master: %v", err)
		}
		for range 2 { // the copy stays as it is
			want(t, m, "OK", "set a 2")
			want(t, m, "OK", "set b 2")
			restore()
			want(t, m, "[1 <nil>]", "mget a b")
		}

		check(t, m.Follow(ctx))
		check(t, m.Promote())
		want(t, m, "OK", "set a 3")
		check(t, m.Backup()) // of what serves now
		want(t, m, "OK", "set a 4")
		restore()
		want(t, m, "3", "get a")

		check(t, m.Kill())
		check(t, m.Backup())
		check(t, m.Wipe())
		restore()
		want(t, m, "3", "get a")
	})
}

func TestEvict(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		for i := range 40 {
			want(t, m, "OK", fmt.Sprintf("set a%d 1", i))
		}
		check(t, m.Evict(25))
		want(t, m, "30", "dbsize")
		check(t, m.Evict(0))
		want(t, m, "30", "dbsize")
		check(t, m.Evict(100))
		want(t, m, "0", "dbsize")
		check(t, m.Kill())
		if err := m.Evict(1); err == nil {
			t.Error("keys of a master that is down were evicted")
		}
	})
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		check(t, m.Freeze())
		check(t, m.Freeze())
		if !m.Frozen() || !m.Running() {
			t.Errorf("frozen %t, running %t", m.Frozen(), m.Running())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if reply, err := m.Do(ctx, "incr", "n"); err == nil {
			t.Errorf("a frozen master answers %v", reply)
		}
		check(t, m.Thaw())
		check(t, m.Thaw())
		if m.Frozen() {
			t.Error("frozen after Thaw")
		}
		want(t, m, "PONG", "ping")

		check(t, m.Freeze())
		check(t, m.Kill())
		if m.Frozen() || m.Running() {
			t.Errorf("after Kill: frozen %t, running %t", m.Frozen(), m.Running())
		}
		check(t, m.Start())
		want(t, m, "PONG", "ping")
	})
}

// serverClock returns by how much the server's realtime clock is ahead of ours.
func serverClock(t *testing.T, m Master) time.Duration {
	t.Helper()
	reply, err := m.Do(t.Context(), "time")
	check(t, err)
	pair := reply.([]any)
	sec, err := strconv.ParseInt(pair[0].(string), 10, 64)
	check(t, err)
	usec, err := strconv.ParseInt(pair[1].(string), 10, 64)
	check(t, err)
	return time.Until(time.Unix(sec, usec*1000))
}

func TestClock(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 2}, func(t *testing.T, c *Cluster) {
		m, other := c.Masters()[0], c.Masters()[1]
		near := func(m Master, offset time.Duration) {
			t.Helper()
			if got := serverClock(t, m); (got - offset).Abs() > 2*time.Second {
				t.Errorf("the clock of %s is ahead by %s, want %s", m.Name(), got, offset)
			}
		}
		near(m, 0)
		want(t, m, "OK", "set lock v px 60000")
		err := m.SetClock(-time.Hour)
		testskip.IfLacking(t, err, ErrNoClock)
		check(t, err)
		near(m, -time.Hour)
		want(t, m, "1", "exists lock")
		check(t, m.SetClock(50*time.Second))
		near(m, 50*time.Second)
		near(other, 0)
		want(t, m, "1", "exists lock")
		check(t, m.SetClock(70*time.Second))
		want(t, m, "0", "exists lock")

		check(t, m.Kill())
		check(t, m.Start())
		near(m, 70*time.Second)
		check(t, m.SetClock(0))
		near(m, 0)
	})
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1, SmallDisk: 4 << 20}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		want(t, m, "OK", "set a 1")
		err := m.FillDisk()
		testskip.IfLacking(t, err, ErrNoSmallDisk)
		check(t, err)
		for n := 0; err == nil && n < 20; n++ { // the last page of the file takes a few
			_, err = m.Do(t.Context(), "set", "b", strings.Repeat("x", 1000))
		}
		ends(t, m)
		check(t, m.FreeDisk())
		check(t, m.FreeDisk())
		check(t, m.Start())
		want(t, m, "1", "get a")
		want(t, m, "OK", "set c 1")
	})
}

// ends waits until the master has ended by itself.
func ends(t *testing.T, m Master) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); m.Running(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s lives on", m.Name())
		}
	}
}

func TestNoSmallDisk(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Engine: Process, N: 1})
	if err := c.Masters()[0].FillDisk(); !errors.Is(err, ErrNoSmallDisk) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("FillDisk: %v", err)
	}
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	eachEngine(t, Config{N: 1}, func(t *testing.T, c *Cluster) {
		m := c.Masters()[0]
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for _, err := range []error{m.Lag(), m.Promote()} {
			if !errors.Is(err, ErrNoReplica) {
				t.Errorf("without a replica: %v", err)
			}
		}
		for round := range 2 { // the second on a master that was itself promoted
			addr := m.Addr()
			want(t, m, "OK", fmt.Sprintf("set early%d 1", round))
			check(t, m.Follow(ctx))
			check(t, m.Lag())
			want(t, m, "OK", fmt.Sprintf("set late%d 1", round))
			check(t, m.Promote())
			if m.Addr() != addr || !m.Running() {
				t.Fatalf("running %t on %s, was on %s", m.Running(), m.Addr(), addr)
			}
			want(t, m, "1", fmt.Sprintf("exists early%d", round))
			want(t, m, "0", fmt.Sprintf("exists late%d", round))
			want(t, m, "OK", fmt.Sprintf("set after%d 1", round))
		}
		check(t, m.Freeze())
		check(t, m.Thaw())
		check(t, m.Kill())
		check(t, m.Start())
		want(t, m, "4", "exists early0 early1 after0 after1")
		want(t, m, "0", "exists late0 late1")
	})
}

func TestFsync(t *testing.T) {
	t.Parallel()
	for fsync, conf := range map[Fsync][]string{
		Always:   {"appendonly yes", "appendfsync always", "maxmemory-policy noeviction", "save "},
		EverySec: {"appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction", "save "},
		None:     {"appendonly no", "maxmemory-policy noeviction", "save "},
	} {
		t.Run(string(fsync), func(t *testing.T) {
			t.Parallel()
			c := start(t, Config{Engine: Process, N: 1, Fsync: fsync})
			m := c.Masters()[0]
			for _, line := range conf {
				name, _, _ := strings.Cut(line, " ")
				want(t, m, "["+line+"]", "config get "+name)
			}
			if c.Fsync() != fsync {
				t.Errorf("fsync is %s", c.Fsync())
			}
			want(t, m, "OK", "set a 1")
			check(t, m.Kill())
			check(t, m.Truncate(0))
			check(t, m.Start())
			left := map[Fsync]string{Always: "1", EverySec: "1", None: "0"}
			want(t, m, left[fsync], "dbsize")
		})
	}
}

func TestFrontsAreForOneClient(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Engine: Process, N: 2, Clients: []string{"c0", "c1"}})
	if c.Front("c2") != nil || len(c.Front("c0")) != 2 || len(c.Clients()) != 2 {
		t.Fatalf("fronts: %v, %v", c.Front("c2"), c.Front("c0"))
	}
	through := func(client string, i int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := do(ctx, c.Front(client)[i].Addr(), "incr", "n")
		return err
	}
	c.Front("c0")[1].Partition(true, true)
	for client, errs := range map[string][]bool{"c0": {false, true}, "c1": {false, false}} {
		for i, fails := range errs {
			if err := through(client, i); (err != nil) != fails {
				t.Errorf("%s to m%d: %v", client, i, err)
			}
		}
	}
	want(t, c.Masters()[0], "2", "get n")
	want(t, c.Masters()[1], "1", "get n")
}
