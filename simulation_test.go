package redlock_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/sim"
	"github.com/redlock-go/redlock/internal/script"
)

var simulation = struct {
	seed                 *uint64
	seeds, length, again *int
	faults, setup, out   *string
}{
	flag.Uint64("sim.seed", 0, "the first seed of TestSimulation; 0: another each time"),
	flag.Int("sim.seeds", 2, "how many seeds TestSimulation plays"),
	flag.Int("sim.length", 5, "how many ttls of each seed are within the fault model"),
	flag.Int("sim.again", 10, "how often TestSimulation plays a seed that failed again"),
	flag.String("sim.faults", "", "a schedule that a failing seed has printed"),
	flag.String("sim.setup", "", "what TestSimulation does not draw of the deployment, such as 'founders=5 ttl=500ms': see sim.Config"),
	flag.String("sim.out", "", "folder for the histories of seeds that fail"),
}

func init() {
	flag.Func("sim.buckets", "how many counters a master has in the tests of this run: fewer make simulations with changes of members faster", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("it must be a number from 1")
		}
		script.Buckets = n
		return nil
	})
}

// TestSimulation plays rounds of chaos in virtual time on masters in this process, and checks the clients'
// history: docs/CHAOS.md. -v prints its progress.
func TestSimulation(t *testing.T) { // not parallel: other tests watch the clock
	first := *simulation.seed
	if first == 0 {
		first = uint64(time.Now().Unix())
	}
	folder := cmp.Or(*simulation.out, os.TempDir())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var all simulated
	stop := all.showProgress(*simulation.seeds)
	t.Cleanup(func() {
		stop()
		t.Log(all.String())
		if missing := all.missing(); missing != "" && !t.Failed() && *simulation.faults == "" && *simulation.setup == "" {
			t.Error(missing)
		}
	})
	for n := range *simulation.seeds {
		seed := first + uint64(n)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			r := simulate(t, seed)
			all.add(seed, r)
			if len(r.Violations) > 0 {
				reportSeed(t, seed, r, folder)
			}
		})
	}
}

// simulate plays the round of a seed.
func simulate(t *testing.T, seed uint64) (r sim.Result) {
	t.Helper()
	var output strings.Builder
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = sim.Play(context.Background(), sim.Config{
			Seed: seed, Length: *simulation.length, Faults: *simulation.faults, Setup: *simulation.setup, Options: []redlock.Option{redlock.InBubble()}, Output: &output,
		})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, output.String())
		}
	})
	return r
}

// reportSeed reports a round's violations, the command that plays the round again, and how often the command fails.
func reportSeed(t *testing.T, seed uint64, r sim.Result, folder string) {
	t.Helper()
	var lines []string
	for _, v := range r.Violations[:min(len(r.Violations), 10)] {
		lines = append(lines, v.String())
	}
	command := fmt.Sprintf("go test -run 'TestSimulation$' . -v -sim.seed=%d -sim.seeds=1 -sim.length=%d -sim.buckets=%d -sim.setup='%s' -sim.faults='%s'",
		seed, *simulation.length, script.Buckets, *simulation.setup, *simulation.faults)
	path := filepath.Join(folder, fmt.Sprintf("redlock-simulation-%d%s", seed, history.Ext))
	if err := history.Save(path, r.Events); err != nil {
		t.Error(err)
	}
	failed := 0
	for range *simulation.again {
		if len(simulate(t, seed).Violations) > 0 {
			failed++
		}
	}
	t.Errorf("%d violations:\n%s\nhistory: %s\nplayed %d times more, it failed %d times; to play it again:\n%s",
		len(r.Violations), strings.Join(lines, "\n"), path, *simulation.again, failed, command)
}

// simulated sums up the rounds so far.
type simulated struct {
	mu     sync.Mutex
	began  time.Time
	seeds  int
	failed []uint64
	hours  time.Duration
	check.Verdict
}

func (s *simulated) add(seed uint64, r sim.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seeds++
	if len(r.Violations) > 0 {
		s.failed = append(s.failed, seed)
	}
	s.hours += r.Simulated
	s.Add(r.Verdict)
}

// How many seeds it takes to show all that simulations are for. CI plays 60 for each change, and 4 000 at night.
const (
	// proving: a third of the seeds have a phase out of the fault model, and most of these seeds have an overlap or
	// an access that a guard refused.
	proving = 60

	// provingStale: one seed in 16 has a stale write that the unguarded store took. So of the runs with 150 seeds,
	// one in 15 000 has no stale write. With 60 seeds, one run in 50 would have none.
	provingStale = 150
)

// missing returns what the seeds should have provoked and did not. It returns "" if nothing is missing, or if there
// were too few seeds.
func (s *simulated) missing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.Verdict
	if s.seeds < provingStale {
		asked.Stale = 1
	}
	switch missing := asked.Missing(); {
	case s.seeds < proving:
		return ""
	case missing == "" && s.Calm == 0:
		return "this run proves nothing of renewals: no renewed hold ended in calm"
	default:
		return missing
	}
}

func (s *simulated) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := "none failed"
	if len(s.failed) > 0 {
		failed = fmt.Sprintf("FAILED: %d of them, %v", len(s.failed), s.failed)
	}
	return fmt.Sprintf("%d seeds, %s; %.1f simulated hours in %v: %d operations, %d holds (%d for reading, %d of them while others read; %d in sets), %d downgrades, %d faults, %d locks taken by force from %d holders, %d overlaps provoked, %d stale accesses refused; judged in calm: %d ends of renewed holds, %d tries for names that nobody used, %d waits for such names and tries for sets of them",
		s.seeds, failed, s.hours.Hours(), time.Since(s.began).Round(time.Second), s.Operations, s.Holds, s.Reads, s.Shared, s.InSets, s.Downgrades, s.Faults, s.Forced, s.ForcedOff, s.Overlaps, s.Refused, s.Calm, s.Quiet, s.Alone)
}

func TestSeedsMustProveSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seeds  int
		counts check.Counts
		want   string
	}{
		{proving, check.Counts{HeldInModel: 1, Overlaps: 1, Refused: 1, Stale: 1, Calm: 1}, ""},
		{proving, check.Counts{Overlaps: 1, Refused: 1, Stale: 1, Calm: 1}, "nothing was held"},
		{proving, check.Counts{HeldInModel: 1, Refused: 1, Stale: 1, Calm: 1}, "no two valid claims overlapped"},
		{proving, check.Counts{HeldInModel: 1, Overlaps: 1, Stale: 1, Calm: 1}, "no stale write was refused"},
		{proving, check.Counts{HeldInModel: 1, Overlaps: 1, Refused: 1, Calm: 1}, ""},
		{provingStale, check.Counts{HeldInModel: 1, Overlaps: 1, Refused: 1, Calm: 1}, "no stale write went through"},
		{proving, check.Counts{HeldInModel: 1, Overlaps: 1, Refused: 1, Stale: 1}, "no renewed hold ended in calm"},
		{proving - 1, check.Counts{}, ""},
	} {
		var all simulated
		all.Counts = c.counts
		all.seeds = c.seeds
		if got := all.missing(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d seeds, %+v: %q, want %q", c.seeds, c.counts, got, c.want)
		}
	}
}

// showProgress writes a line every 10 s, until stop is called.
func (s *simulated) showProgress(seeds int) (stop func()) {
	s.began = time.Now()
	done := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if testing.Verbose() {
					fmt.Fprintf(os.Stderr, "simulation: of %d: %v\n", seeds, s)
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		shown.Wait()
	}
}
