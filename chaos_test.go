//go:build unix

package redlock_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/run"
)

var chaos = struct {
	duration            *time.Duration
	seed                *uint64
	faults, engine, out *string
	tags                *string
}{
	flag.Duration("chaos.duration", 100*time.Second, "of all rounds of TestChaos, without starting and checking; give -timeout=0 for long ones"),
	flag.Uint64("chaos.seed", 0, "of TestChaos's faults and clients; 0: another each time"),
	flag.String("chaos.faults", "", "a schedule that a run of TestChaos has printed"),
	flag.String("chaos.engine", "auto", "of the masters of TestChaos: auto, docker or process; in CI, auto is docker"),
	flag.String("chaos.out", "", "folder for the history and the report of TestChaos"),
	flag.String("chaos.tags", "", "to build TestChaos's clients with, such as those of a planted bug"),
}

// TestChaos lets client processes contend for locks and write under them while
// masters, clocks, networks and clients fail, and judges everything that they saw:
// docs/CHAOS.md. It takes about two minutes; with -v it tells how it goes.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: client processes on real masters under faults, with every history checked")
	}
	c := run.Config{
		Duration:     *chaos.duration,
		Seed:         *chaos.seed,
		Faults:       *chaos.faults,
		Engine:       cluster.Engine(*chaos.engine),
		Out:          *chaos.out,
		Source:       "internal/chaos/client",
		Tags:         *chaos.tags,
		NeedDatabase: os.Getenv("CI") != "",
		Log:          os.Stderr,
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().Unix())
	}
	keep := c.Out != ""
	if !keep {
		dir, err := os.MkdirTemp("", "redlock-chaos-out-")
		if err != nil {
			t.Fatal(err)
		}
		c.Out = dir
	}
	if deadline, ok := t.Deadline(); ok {
		if left := time.Until(deadline); left < c.Duration+2*time.Minute {
			t.Fatalf("-chaos.duration=%v does not fit into the %v that are left of -timeout: give -timeout=0", c.Duration, left.Round(time.Second))
		}
	}
	t.Logf("seed %d", c.Seed)

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
		t.Errorf("round %d: %d violations:\n%s\nhistory and report: %s\nto run it again:\n%s",
			f.Round, len(f.Violations), strings.Join(lines, "\n"), f.Dir, f.Command)
	}
	switch missing := res.Missing(); {
	case missing == "" || t.Failed():
	case c.Faults != "":
		t.Log(missing) // nor need it: whoever pastes faults asks something else
	default:
		t.Errorf("%s\nto run it again: -chaos.seed=%d", missing, c.Seed)
	}
	if !keep && !t.Failed() {
		if err := os.RemoveAll(c.Out); err != nil {
			t.Error(err)
		}
	}
}
