//go:build unix

package redlock_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/run"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testskip"
)

var chaos = struct {
	duration            *time.Duration
	seed                *uint64
	faults, engine, out *string
	scenario            *string
}{
	flag.Duration("chaos.duration", 80*time.Second, "of all rounds of TestChaos, without starting and checking; give -timeout=0 for long ones"),
	flag.Uint64("chaos.seed", 0, "of TestChaos's faults and clients; 0: another each time"),
	flag.String("chaos.faults", "", "a schedule that a run of TestChaos has printed"),
	flag.String("chaos.engine", "auto", "of the masters of TestChaos: auto, docker or process; in CI, auto is docker"),
	flag.String("chaos.out", "", "folder for the history of TestChaos"),
	flag.String("chaos.scenario", "", "one of TestChaosScenarios, for TestChaos to play it in the place of faults that are drawn"),
}

// TestChaos runs client processes that lock and write while masters, clocks, networks and clients fail, and
// checks their history: docs/CHAOS.md. It takes 90 s; -v prints its progress.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: client processes on real masters under faults, with every history checked")
	}
	needMasters(t)
	c := chaosConfig(t)
	c.Scenario = *chaos.scenario
	c.Log = os.Stderr
	if deadline, ok := t.Deadline(); ok {
		if left := time.Until(deadline); left < c.Duration+2*time.Minute {
			t.Fatalf("-chaos.duration=%v does not fit into the %v that are left of -timeout: give -timeout=0", c.Duration, left.Round(time.Second))
		}
	}
	t.Logf("seed %d", c.Seed)
	missing := playChaos(t, c).Missing()
	switch {
	case missing == "" || t.Failed():
	case c.Faults != "" || c.Scenario != "":
		t.Log(missing) // not an error: a run with given faults need not show everything
	default:
		t.Errorf("%s\nto run it again: -chaos.seed=%d", missing, c.Seed)
	}
}

// TestChaosScenarios plays each scenario that clients and operators must survive, in one round. The rounds do not run
// in parallel, because each has a dozen processes and must serve in time.
func TestChaosScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: client processes on real masters under faults, with every history checked")
	}
	needMasters(t)
	for _, s := range run.Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			c := chaosConfig(t)
			c.Scenario, c.Faults, c.Log = s.Name, "", t.Output()
			res := playChaos(t, c)
			if res.Holds == 0 {
				t.Error("nothing was ever locked")
			}
			if res.Inits < s.Inits {
				t.Errorf("the members were founded by force %d times, want %d at least", res.Inits, s.Inits)
			}
		})
	}
}

// needMasters skips the test if no masters can be started. It runs before the clients are built.
func needMasters(t *testing.T) {
	t.Helper()
	few := script.Buckets
	script.Buckets = buckets
	t.Cleanup(func() { script.Buckets = few })
	c, err := cluster.Start(t.Context(), cluster.Config{Engine: cluster.Engine(*chaos.engine), N: 1, Log: t.Output()})
	testskip.IfLacking(t, err, cluster.ErrNoDocker, redisproc.ErrNotInstalled)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// chaosConfig returns the configuration of the flags, with a seed and a folder that is removed unless the test
// fails.
func chaosConfig(t *testing.T) run.Config {
	t.Helper()
	c := run.Config{
		Duration:     *chaos.duration,
		Seed:         *chaos.seed,
		Faults:       *chaos.faults,
		Engine:       cluster.Engine(*chaos.engine),
		Out:          *chaos.out,
		Root:         ".",
		NeedDatabase: os.Getenv("CI") != "",
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().Unix())
	}
	if c.Out != "" {
		c.Out = filepath.Join(c.Out, filepath.Base(t.Name()))
		return c
	}
	var err error
	if c.Out, err = os.MkdirTemp("", "redlock-chaos-out-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := os.RemoveAll(c.Out); err != nil {
			t.Error(err)
		}
	})
	return c
}

// playChaos plays chaos with c, and fails the test for each violation.
func playChaos(t *testing.T, c run.Config) run.Result {
	t.Helper()
	res, err := run.Run(t.Context(), c)
	for _, line := range res.Summary() {
		t.Log(line)
	}
	if err != nil {
		t.Fatalf("%v\nwhat there is of the history: %s", err, c.Out)
	}
	for _, f := range res.Failed {
		var lines []string
		for _, v := range f.Violations[:min(len(f.Violations), 20)] {
			lines = append(lines, v.String())
		}
		t.Errorf("round %d: %d violations:\n%s\nhistory: %s\nto run it again:\n%s",
			f.Round, len(f.Violations), strings.Join(lines, "\n"), f.Dir, f.Command)
	}
	return res
}
