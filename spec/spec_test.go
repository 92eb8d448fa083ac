// Package spec checks the models of the protocol exhaustively: with all its rules nothing that is
// promised fails, and with any rule weakened something does, or the models would be empty talk. It
// needs spin and a C compiler.
package spec

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/testskip"
)

var large = flag.Bool("spec.large", false, "also explore the large configurations: about half an hour, and 6 GB")

// long reports whether to explore what takes a minute or so as well, as CI does at night.
var long = os.Getenv("REDLOCK_LONG") != ""

const (
	tokens    = "tokens.pml"
	exclusion = "exclusion.pml"
	sets      = "sets.pml"
	readwrite = "readwrite.pml"
	handover  = "handover.pml"
)

// config is one model with its bounds, and rules that are weakened.
type config struct {
	model  string
	bounds string
	weak   string // "RULE=level", none: the full protocol
	claim  string
	long   bool // explored if REDLOCK_LONG is set
	large  bool // explored with -spec.large
}

func (c config) String() string {
	return strings.Join(strings.Fields(c.model+" "+c.weak+" "+c.bounds), " ")
}

// holding are explored completely, and nothing may fail.
var holding = []config{
	{model: tokens, bounds: "GHOSTS=2",
		claim: "two rivals, two votes that nobody counts"},
	{model: tokens, bounds: "ATTEMPTS=3", long: true,
		claim: "three rivals"},
	{model: tokens, bounds: "REPAIRS=2",
		claim: "two rivals, a holder repairs"},
	{model: tokens, bounds: "N=5 GHOSTS=0 SKEW=1",
		claim: "five masters"},
	{model: tokens, bounds: "FORCE=1 ATTEMPTS=3", long: true,
		claim: "ForceUnlock takes the lock from one of three rivals"},
	{model: tokens, bounds: "FORCE=1 GHOSTS=0 SKEW=1",
		claim: "the same of two rivals"},
	{model: exclusion,
		claim: "two rivals, renewals, repairs"},
	{model: exclusion, bounds: "TTL=3",
		claim: "the same, with a finer clock"},
	{model: exclusion, bounds: "FORCE=1 TTL=3", long: true,
		claim: "ForceUnlock takes the lock from a hold that renews and repairs, with a finer clock"},
	{model: exclusion, bounds: "FORCE=1",
		claim: "the same, with the clock of the first"},
	{model: exclusion, bounds: "PROXY=1",
		claim: "what is sent to one master may come to another one"},
	{model: exclusion, bounds: "FORCE=1 ATTEMPTS=3 REPAIR=0", long: true,
		claim: "the same without repairs, and a rival comes"},
	{model: sets,
		claim: "three sets, each overlapping both others, and a loss"},
	{model: readwrite, bounds: "UNHEARD=0", long: true,
		claim: "two readers or writers, renewals, downgrades"},
	{model: readwrite, bounds: "TURN=0 UNHEARD=0",
		claim: "the same, and nobody gives way to who waits"},
	{model: readwrite, bounds: "ATTEMPTS=3 RENEW=0 UNHEARD=0",
		claim: "three readers or writers, downgrades"},
	{model: readwrite, bounds: "ATTEMPTS=3 RENEW=0 TURN=0 UNHEARD=0 SHORT=1",
		claim: "three, one of them with a shorter ttl"},
	{model: readwrite, bounds: "RENEW=1 TURN=0 UNHEARD=0 DIE=1",
		claim: "two, that may die"},
	{model: handover, bounds: "LATE=0 TTL=2 SHORT=1", long: true,
		claim: "a release grants to one of two that wait, which renew; answers and notices that are lost, late or doubled"},
	{model: handover, bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "the same, without renewals, and every answer comes"},
	{model: handover, bounds: "LATE=0 RENEW=0", long: true,
		claim: "the same with a finer clock, without renewals"},
	{model: handover, bounds: "RENEW=0 UNHEARD=0 TTL=2 SHORT=1", long: true,
		claim: "the same, and what is sent at the end may be executed late or never"},
	{model: handover, bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1 CHANGE=1",
		claim: "the same, while a member takes the place of another"},
	{model: handover, bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1 ASTRAY=1",
		claim: "a subscription to one master leads to another one"},

	{model: readwrite, large: true,
		claim: "two readers or writers, and answers that are lost"},
	{model: tokens, bounds: "ATTEMPTS=4 GHOSTS=0 SKEW=1", large: true,
		claim: "four rivals"},
	{model: exclusion, bounds: "N=5", large: true,
		claim: "five masters"},
	{model: exclusion, bounds: "ATTEMPTS=3", large: true,
		claim: "three rivals"},
}

// failing have a rule weakened, and a promise must fail.
var failing = []config{
	{model: tokens, weak: "CONFIRM=0", bounds: "GHOSTS=0 SKEW=1",
		claim: "two attempts take the same highest vote for their token"},
	{model: tokens, weak: "LATE=0", bounds: "GHOSTS=0 SKEW=1",
		claim: "a vote that comes after the token is known has a higher number, which a rival was below"},
	{model: tokens, weak: "STANDING=0", bounds: "GHOSTS=0 SKEW=1",
		claim: "a laggard confirms after a rival was granted there"},
	{model: tokens, weak: "STANDING=1", bounds: "GHOSTS=1 SKEW=1",
		claim: "a laggard confirms for a second grant to the same owner, with a rival's between"},
	{model: tokens, weak: "REENTRY=0", bounds: "REENTRIES=1 GHOSTS=0 SKEW=0",
		claim: "a re-entry makes itself the locks it asks for, under an overtaken token"},
	{model: tokens, weak: "MARK=0", bounds: "FORCE=1 GHOSTS=0 SKEW=0",
		claim: "the attempt from which the lock was taken is granted after that, and has a higher token"},
	{model: tokens, weak: "COUNT=0", bounds: "GHOSTS=0 SKEW=0",
		claim: "a release grants, and counts nothing: the next one has the same token"},

	{model: exclusion, weak: "LEASE=0", bounds: "UNHEARD=0 REPAIR=0",
		claim: "a late answer revives a hold after a rival came and went"},
	{model: exclusion, weak: "LEASE=0 REPAIRCOUNT=0", bounds: "UNHEARD=0",
		claim: "the same, by a late repair"},
	{model: exclusion, weak: "LEASE=0 REENTRY=0", bounds: "UNHEARD=0",
		claim: "the same, by a late re-entry"},
	{model: exclusion, weak: "MARK=0", bounds: "FORCE=1 REPAIR=0",
		claim: "a late acquire gets back what was taken, and the hold goes on"},
	{model: exclusion, weak: "MARK=1", bounds: "FORCE=1",
		claim: "a hold repairs what was taken from it, and goes on"},
	{model: exclusion, weak: "ADDRESSED=0", bounds: "PROXY=1 UNHEARD=0 REPAIR=0",
		claim: "one master grants two requests, of which one is for another: two votes"},

	{model: sets, weak: "ORDER=0", bounds: "LOSSES=0",
		claim: "three sets wait for each other in a circle"},
	{model: sets, weak: "ROLLBACK=0", bounds: "LOSSES=0",
		claim: "what a failed attempt was granted keeps everybody out"},
	{model: sets, weak: "WHOLE=0",
		claim: "a set is believed held whose name another set has"},
	{model: sets, weak: "EACH=0 JOINT=0", bounds: "LOSSES=0",
		claim: "the same, of a set that never had it"},
	{model: readwrite, weak: "READER=0", bounds: "UNHEARD=0 TURN=0 RENEW=0",
		claim: "a quorum of readers beside a writer"},
	{model: readwrite, weak: "WRITER=0", bounds: "UNHEARD=0 TURN=0 RENEW=0",
		claim: "a writer beside a quorum of readers"},
	{model: readwrite, weak: "OWN=1", bounds: "ATTEMPTS=3 DIE=1 TURN=0 UNHEARD=0",
		claim: "a reader that lives keeps one on that died, for ever"},
	{model: readwrite, weak: "OWN=0", bounds: "ATTEMPTS=3 SHORT=1 TURN=0 RENEW=0 UNHEARD=0",
		claim: "a reader with a short ttl takes another along when it ends"},
	{model: readwrite, weak: "LEAVE=0", bounds: "ATTEMPTS=3 TURN=0 RENEW=0 UNHEARD=0",
		claim: "a reader that leaves takes others along"},
	{model: readwrite, weak: "DOWNGRADE=0", bounds: "UNHEARD=0",
		claim: "a writer gets in between the two steps of a downgrade"},
	{model: readwrite, weak: "LEASE=0", bounds: "UNHEARD=0 TURN=0",
		claim: "a late answer revives a reader after a writer came and went"},
	{model: handover, weak: "SENT=0", bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "a notice is late, and its vote counts when the lock is another's by then"},
	{model: handover, weak: "LENGTH=0", bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "a waiter counts on the ttl, and a release granted for less"},
	{model: handover, weak: "OWNER=0", bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "a notice is taken for a vote for another owner"},
	{model: handover, weak: "NAMED=0", bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=1 SHORT=1 ASTRAY=1",
		claim: "a notice is taken for a vote of another master: one grant is two votes"},
	{model: handover, weak: "MARK=1", bounds: "RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "a release grants to who gave up, and left no mark where it was refused"},
	{model: handover, weak: "MARK=0", bounds: "RENEW=0 UNHEARD=0 TTL=2 SHORT=1",
		claim: "a release grants to who gave up, in spite of its mark"},
}

// covered are weakened, and nothing fails, because another rule sees to it.
var covered = []config{
	{model: exclusion, weak: "REPAIRCOUNT=0",
		claim: "LEASE covers it: an answer counts only while the hold is valid, and then the repair was made while it was"},
	{model: exclusion, weak: "REENTRY=0",
		claim: "LEASE covers it likewise; for tokens it is needed"},
	{model: handover, weak: "VERSION=0", bounds: "LATE=0 RENEW=0 UNHEARD=0 TTL=2 SHORT=1 CHANGE=1",
		claim: "SENT and the quarantine cover it: no offer of the version before counts when the new member votes; for tokens it is needed"},
	{model: sets, weak: "JOINT=0",
		claim: "it is no rule of safety, and the order sees to progress"},
	{model: sets, weak: "EACH=0",
		claim: "JOINT covers it: as long as no master fails between two of its grants, the names have the same quorum"},
}

func TestTheFullProtocolKeepsItsPromises(t *testing.T) {
	explore(t, holding, func(t *testing.T, r result) {
		if !r.complete || r.violated != "" {
			t.Errorf("a violation, or not explored completely:\n%s", r)
		}
	})
}

func TestEachWeakenedRuleBreaksAPromise(t *testing.T) {
	explore(t, failing, func(t *testing.T, r result) {
		if r.violated == "" {
			t.Errorf("no promise fails: the model is vacuous\n%s", r)
		}
		t.Logf("%s\n%s", r.violated, r.story)
	})
}

func TestRulesThatAnotherCovers(t *testing.T) {
	explore(t, covered, func(t *testing.T, r result) {
		if !r.complete || r.violated != "" {
			t.Errorf("it is not covered any more:\n%s", r)
		}
	})
}

// A switch that no configuration turns is a rule that nobody has checked.
func TestEachRuleIsWeakened(t *testing.T) {
	weakened := map[string]bool{}
	for _, c := range slices.Concat(failing, covered) {
		for rule := range strings.FieldsSeq(c.weak) {
			weakened[c.model+" "+rule] = true
		}
	}
	for _, model := range []string{tokens, exclusion, readwrite, sets, handover} {
		source, err := os.ReadFile(model)
		if err != nil {
			t.Fatal(err)
		}
		rules, _, found := strings.Cut(string(source), "/* Bounds.")
		if !found {
			t.Fatalf("%s no longer says where its bounds begin", model)
		}
		for _, m := range regexp.MustCompile(`(?m)^#define (\w+) (\d)$`).FindAllStringSubmatch(rules, -1) {
			top, _ := strconv.Atoi(m[2])
			for level := range top {
				if rule := fmt.Sprintf("%s %s=%d", model, m[1], level); !weakened[rule] {
					t.Errorf("%s is in no configuration", rule)
				}
			}
		}
	}
}

func explore(t *testing.T, configs []config, check func(*testing.T, result)) {
	for _, c := range configs {
		switch {
		case c.large && !*large:
			t.Logf("not explored without -spec.large: %s", c)
			continue
		case c.long && !long:
			t.Logf("not explored without REDLOCK_LONG=1: %s", c)
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			if !c.large { // these have the memory for themselves
				t.Parallel()
			}
			needTools(t)
			r, err := c.run(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %.2g states, depth %d, %.0f MB, %.1f s", c.claim, float64(r.states), r.depth, r.megabytes, r.seconds)
			check(t, r)
		})
	}
}

// result is what the verifier said.
type result struct {
	complete  bool
	violated  string // the assertion
	story     string // how, if it is violated
	states    int
	depth     int
	megabytes float64
	seconds   float64
	output    string
}

func (r result) String() string { return r.violated + "\n" + r.story + r.output }

// run explores c, as a rule breadth first if a violation is expected: it is the shortest then.
func (c config) run(ctx context.Context, dir string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	model, err := filepath.Abs(c.model)
	if err != nil {
		return result{}, err
	}
	var defines []string
	for _, d := range strings.Fields(c.weak + " " + c.bounds) {
		defines = append(defines, "-D"+d)
	}
	command := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out), err
	}
	if out, err := command("spin", append(defines, "-a", model)...); err != nil || strings.Contains(out, "Error:") {
		return result{}, errors.Join(err, errors.New(out))
	}
	compile := []string{"-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=" + memory(c), "-o", "pan", "pan.c"}
	if c.weak != "" && !slices.Contains(covered, c) {
		compile = append(compile, "-DBFS")
	}
	if _, err := command("cc", compile...); err != nil {
		return result{}, err
	}
	begin := time.Now()
	out, err := command("./pan", "-m1000000", "-n")
	if err != nil {
		return result{}, err
	}
	r := parse(out)
	r.seconds = time.Since(begin).Seconds()
	if r.violated != "" {
		// Where spin looks for the trail depends on the name that it was given.
		trail, err := filepath.Glob(filepath.Join(dir, "*.trail"))
		if err != nil || len(trail) != 1 {
			return r, errors.Join(err, errors.New("no trail:\n"+out))
		}
		out, _ := command("spin", append(defines, "-T", "-k", trail[0], model)...) // its status is that of the assertion
		r.story = story(out)
	}
	return r, nil
}

// memory bounds what the verifier may use, in MB: one that has not enough says so.
func memory(c config) string {
	if c.large {
		return "6000"
	}
	return "2500"
}

var (
	violation = regexp.MustCompile(`assertion violated (.*) \(at depth`)
	states    = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
	depth     = regexp.MustCompile(`depth reached (\d+), errors: (\d+)`)
	megabytes = regexp.MustCompile(`(?m)^\s*([\d.]+)\s+total actual memory usage`)
)

func parse(out string) (r result) {
	r.output = out
	if m := violation.FindStringSubmatch(out); m != nil {
		r.violated = strings.TrimSpace(m[1])
	}
	if m := states.FindStringSubmatch(out); m != nil {
		r.states, _ = strconv.Atoi(m[1])
	}
	if m := depth.FindStringSubmatch(out); m != nil {
		r.depth, _ = strconv.Atoi(m[1])
		r.complete = m[2] == "0"
	}
	if m := megabytes.FindStringSubmatch(out); m != nil {
		r.megabytes, _ = strconv.ParseFloat(m[1], 64)
	}
	// An end that nobody reaches, a lost state, a full memory: each of them is an error or one of
	// these.
	for _, not := range []string{"Search not completed", "out of memory", "search depth too small", "resource"} {
		r.complete = r.complete && !strings.Contains(out, not)
	}
	return r
}

// story is what the model printed on the way to the violation.
func story(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "spin:") {
			break
		}
		lines = append(lines, "    "+strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n") + "\n"
}

// needTools skips the test where the model cannot be checked.
func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"spin", "cc"} {
		_, err := exec.LookPath(tool)
		testskip.IfLacking(t, err, exec.ErrNotFound)
		if err != nil {
			t.Fatal(err)
		}
	}
}
