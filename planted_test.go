package redlock_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/planted"
)

// plantedBug is a bug of internal/chaos/planted that breaks a rule of safety, and the simulation that finds it.
type plantedBug struct {
	name   string
	rule   string // the rule that the bug violates
	length int    // in ttls
	seed   int    // a seed that has found the bug; 0: seed 1
	setup  string // added to usual
	faults string // the schedule; empty: faults are drawn
}

// A bug's own seed is played three times, because each run schedules goroutines differently. Then the seeds from 1 to
// plantedSeeds are played. After them, the bug counts as not found.
const plantedSeeds = 120

// usual is the setup of all bugs. A bug's own setup follows it, and overrides it.
const usual = "founders=5 clients=4 workers=3 names=3 ttl=500ms max-ttl=1s request=150ms latency=1ms reads=0 sets=0 lacks=0 "

var plantedBugs = []plantedBug{
	{name: "release_anyone", rule: "exclusion", length: 7},
	{name: "one_token", rule: "tokens", length: 5},
	{name: "no_confirm", rule: "tokens", length: 7, seed: 3},
	{name: "late_end", rule: "notified", length: 5},
	{name: "drift", rule: "exclusion", length: 5, seed: 6, setup: "ttl=10s max-ttl=20s names=2",
		faults: "0s drift(m0+m1+m2+m3+m4,1%,300s)"},
	// A client that is cut off while it holds the lock keeps the lock until the lease ends; c3 gets the lock as soon as
	// the keys expire.
	{name: "from_the_end", rule: "exclusion", length: 20, setup: "workers=1 names=1 request=300ms",
		faults: "0s delay(c0+c1+c2,m0+m1+m2+m3+m4,60ms,40s); " + each(2*time.Second, 20, "partition(c0+c1+c2,m0+m1+m2+m3+m4,both,700ms)")},
	{name: "no_quarantine", rule: "exclusion", length: 14, seed: 7, setup: "names=1", faults: replaced},
	{name: "new_votes", rule: "exclusion", length: 14, seed: 7, setup: "names=1", faults: replaced},
	// m0 is frozen and misses that it is replaced. c0 and c1 reach enough masters, so they do not look for a new
	// version. Then c0 and c1 lock on m0, m1 and m2 at the old version, and c2 and c3 on m3, m4 and m5.
	{name: "any_version", rule: "exclusion", length: 24, seed: 1,
		faults: "1s partition(c0+c1,m4,both,34s); 1s partition(c2+c3,m0+m1+m2,both,34s); 2s freeze(m0,5s); 2.5s replace(m0,m5,0s,25s)"},
	// c0 holds the lock on m0 and m2, and c1 asks for it on m0 and m1. m2 misses that it is replaced. c0 learns the new
	// version only after m2 has renewed c0's lease: m0's vote at the new version and m2's vote at the old version are
	// no quorum.
	{name: "mixed_versions", rule: "exclusion", length: 5, seed: 12, setup: "founders=3 clients=2 workers=1 names=1 ttl=10s max-ttl=10s request=1s",
		faults: "0s partition(c0,m1,both,60s); 0s partition(c1,m2,both,60s); 20s freeze(m2,3s); 20s partition(c0,m0,both,5s); 20.1s replace(m2,m3,0s,60s)"},
	// This is the scenario "twice" of the runs on real masters.
	{name: "no_sync", rule: "tokens", length: 28, setup: "clients=1",
		faults: "0s partition(*,m3+m4,both,7200ms); 500ms replace(m0,m5,0s,0s); 7s replace(m0,m5,0s,20s); 7.2s partition(*,m1+m2,both,20s)"},
	// An operator is killed after the new master got its counters, and before this master is a member. Meanwhile the
	// other masters grant.
	{name: "early_sync", rule: "tokens", length: 16, seed: 2, setup: "latency=8ms names=6",
		faults: "0s kill-client(c2+c3,4s); 0s partition(c0+c1,m3+m4+m5,both,60s); 0s partition(c2+c3,m1+m2,both,60s); 1s replace(m0,m5,130ms,60s)"},
	// c0, c1 and c2 lock on four of seven masters. Two of these four are removed, and c3 locks on the other three,
	// which are a quorum of five.
	{name: "removal_alone", rule: "tokens", length: 24, setup: "names=1",
		faults: "0s kill-client(c3,9s); 0s partition(c0+c1+c2,m4+m5+m6,both,60s); 0s partition(c3,m1+m2+m3,both,60s); " +
			"100ms add(m5,0s,60s); 2s add(m6,0s,60s); 5s remove(m0,0s,60s); 7.5s remove(m1,0s,60s)"},
	// m5 and m6 become members twice. The second time, m5 has its counters when m6 joins, and one change makes both
	// voting. Only two members have the earlier tokens, and c3 does not reach these two then.
	{name: "one_too_many", rule: "tokens", length: 40,
		faults: "0s kill-client(c0+c1+c2,60s); 0s partition(*,m3+m4,both,13s); 500ms replace(m0,m5,0s,0s); 4s replace(m1,m6,0s,0s); " +
			"12s replace(m0,m5,0s,30s); 12.4s replace(m1,m6,0s,30s); 13s partition(*,m2+m5,both,30s)"},
	{name: "given_uncounted", rule: "tokens", length: 5},
	{name: "back_to_seen", rule: "tokens", length: 5},
	{name: "no_look", rule: "exclusion", length: 56, seed: 4, faults: each(4*time.Second, 7, "cache(m0+m1,600ms)")},
	{name: "own_note", rule: "(exclusion|tokens)", length: 56, setup: "founders=3 names=2", faults: each(4*time.Second, 7, "old-file(m0,1s,100ms)")},
	{name: "downgrade_gap", rule: "exclusion", length: 5, setup: "reads=50"},
	{name: "no_read_confirm", rule: "tokens", length: 20, seed: 6, setup: "reads=50"},
	{name: "force_keeps_token", rule: "forced", length: 20},
	// m3 and m4 are down during a ForceUnlock, and have the lock when they are up again. By then c0 is cut off from m2.
	// c0 renews on m3 and m4, and repairs m0 and m1.
	{name: "forced_renews", rule: "forced", length: 7, setup: "clients=1 workers=1 names=1 ttl=10s max-ttl=20s request=500ms", faults: forcedOff},
}

// replaced is a schedule in which m2 is replaced and put back three times. Every quorum of c0 and c1 has m2.
const replaced = "0s partition(c0+c1,m3+m4,both,34s); 2s replace(m2,m5,0s,500ms); 5.5s replace(m2,m5,0s,500ms); 9s replace(m2,m5,0s,500ms)"

// forcedOff is a schedule in which an operator takes the lock by force every 20 s.
var forcedOff = func() string {
	var all []string
	for at := 10; at < 300; at += 20 {
		all = append(all, fmt.Sprintf("%ds kill(m3+m4,kept,600ms); %d.3s force(n0,0s); %d.4s partition(c0,m2,both,8s)", at, at, at))
	}
	return strings.Join(all, "; ")
}()

// each returns a schedule with n repetitions of a fault. They begin one span after the other.
func each(span time.Duration, n int, fault string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s %s", time.Second+time.Duration(i)*span, fault))
	}
	return strings.Join(all, "; ")
}

// TestPlantedBugs plays a simulation with each bug, which must find the bug, and one without a bug, which must pass. It
// is not parallel, because it uses all cores, and other tests watch the clock.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: a simulation for each bug that is planted in the library")
	}
	scratch := t.TempDir()
	overlay, err := planted.Build(".", scratch)
	if err != nil {
		t.Fatal(err)
	}
	binary := buildTests(t, overlay)
	for _, b := range plantedBugs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			violation := regexp.MustCompile(`\ds ` + b.rule + `: `)
			known := max(b.seed, 1)
			for played := 1; ; played++ {
				seed := known
				if played > 3 {
					seed = played - 3
				}
				text, err := b.simulate(t, binary, seed, planted.Env(scratch, b.name))
				if violation.MatchString(text) {
					t.Logf("run %d, of seed %d, found it", played, seed)
					break
				}
				if seed == plantedSeeds {
					t.Fatalf("%v, want a violation of the rule %s:\n%s", err, b.rule, text)
				}
			}
			if b.faults == "" {
				return // TestSimulation shows that the library without bugs passes drawn faults
			}
			if text, err := b.simulate(t, binary, known); err != nil {
				t.Errorf("without the bug: %v\n%s", err, text)
			}
		})
	}
}

// simulate runs TestSimulation of a test binary with a seed. This keeps one core busy.
func (b plantedBug) simulate(t *testing.T, binary string, seed int, env ...string) (text string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=TestSimulation$", fmt.Sprint("-sim.seed=", seed), "-sim.seeds=1",
		fmt.Sprint("-sim.length=", b.length), "-sim.buckets=64", "-sim.again=0", "-sim.out="+t.TempDir(),
		"-sim.setup="+usual+b.setup, "-sim.faults="+b.faults)
	cmd.Env = append(append(os.Environ(), "GOGC=400", "GODEBUG=adaptivestackstart=1"), env...) // as ci/test.sh plays simulations
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// buildTests builds the tests of this package with an overlay.
func buildTests(t *testing.T, overlay string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "redlock.test")
	if text, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o="+binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return binary
}

func TestPlantedBugsAreKnown(t *testing.T) {
	t.Parallel()
	bugs, err := planted.Bugs()
	if err != nil {
		t.Fatal(err)
	}
	var is, want []string
	for _, b := range bugs {
		is = append(is, b.Name)
	}
	for _, b := range plantedBugs {
		want = append(want, b.name)
	}
	slices.Sort(is)
	slices.Sort(want)
	if !slices.Equal(is, want) {
		t.Errorf("there are the bugs %q, and TestPlantedBugs knows %q", is, want)
	}
}
