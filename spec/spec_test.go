// Package spec explores the models exhaustively. With all rules no promise fails. With a weakened rule a promise
// fails, unless another rule covers the weakened one. The tests need spin and a C compiler.
package spec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/testskip"
	"github.com/redlock-go/redlock/spec/configs"
)

func TestFullProtocolHolds(t *testing.T) {
	explore(t, "holds", func(t *testing.T, r result) {
		if !r.complete || r.violated != "" {
			t.Errorf("a violation, or not explored completely:\n%s", r)
		}
	})
}

func TestWeakenedRulesFail(t *testing.T) {
	explore(t, "fails", func(t *testing.T, r result) {
		if r.violated == "" {
			t.Errorf("no promise fails: the model is vacuous\n%s", r)
		}
		t.Logf("%s\n%s", r.violated, r.story)
	})
}

func TestCoveredRules(t *testing.T) {
	explore(t, "covered", func(t *testing.T, r result) {
		if !r.complete || r.violated != "" {
			t.Errorf("it is not covered any more:\n%s", r)
		}
	})
}

// If no configuration weakens a rule, nobody has checked that the rule is needed.
func TestEachRuleIsWeakened(t *testing.T) {
	weakened, models := map[string]bool{}, map[string]bool{}
	for _, c := range configs.Read(t, "configs.txt") {
		models[c.Model] = true
		if c.Long {
			continue
		}
		for rule := range strings.FieldsSeq(c.Weak) {
			weakened[c.Model+" "+rule] = true
		}
	}
	for model := range models {
		source, err := os.ReadFile(model)
		if err != nil {
			t.Fatal(err)
		}
		rules, _, found := strings.Cut(string(source), "/* Bounds.")
		if !found {
			t.Fatalf("%s no longer marks where its bounds begin", model)
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

func explore(t *testing.T, expect string, check func(*testing.T, result)) {
	configs.Each(t, configs.Read(t, "configs.txt"), expect, func(t *testing.T, c configs.Config) {
		needTools(t)
		r, err := run(t.Context(), c, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2g states, depth %d, %.0f MB, %.1f s", c.Claim, float64(r.states), r.depth, r.megabytes, r.seconds)
		check(t, r)
	})
}

// result is the verifier's result.
type result struct {
	complete  bool
	violated  string // the assertion that fails; "" if none fails
	story     string // the steps to the violation
	states    int
	depth     int
	megabytes float64
	seconds   float64
	output    string
}

func (r result) String() string { return r.violated + "\n" + r.story + r.output }

// run explores c. If c.Expect is "fails", run searches breadth first, and so finds a violation after as few
// steps as possible.
func run(ctx context.Context, c configs.Config, dir string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	model, err := filepath.Abs(c.Model)
	if err != nil {
		return result{}, err
	}
	var defines []string
	for _, d := range strings.Fields(c.Weak + " " + c.Bounds) {
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
	optimise := "-O1" // for a short exploration, -O2 would cost more time than it saves
	if c.Long {
		optimise = "-O2"
	}
	compile := []string{optimise, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2500", "-o", "pan", "pan.c"}
	if c.Expect == "fails" {
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
		// The name of the trail is passed to spin, because spin's default name depends on how spin was started.
		trail, err := filepath.Glob(filepath.Join(dir, "*.trail"))
		if err != nil || len(trail) != 1 {
			return r, errors.Join(err, errors.New("no trail:\n"+out))
		}
		out, _ := command("spin", append(defines, "-T", "-k", trail[0], model)...) // spin exits with an error because an assertion fails
		r.story = story(out)
	}
	return r, nil
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
	// The verifier reports an incomplete exploration (a deadlock, a lost state, a full memory) as an error, or
	// with one of these texts.
	for _, not := range []string{"Search not completed", "out of memory", "search depth too small", "resource"} {
		r.complete = r.complete && !strings.Contains(out, not)
	}
	return r
}

// story returns what the model printed on the way to the violation.
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

// needTools skips the test if the machine lacks spin or a C compiler. In CI the test fails then.
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
