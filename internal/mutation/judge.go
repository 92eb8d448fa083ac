package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// test is a test of a judge, and what was learned of it when nothing was changed.
type test struct {
	binary, folder, name string
	flags                []string
	took                 time.Duration
	met                  []int
}

// verdict is what became of a mutant.
type verdict int

const (
	lived verdict = iota
	killed
	timedOut   // a test took more than ten times as long as it does and 5 s
	notCovered // no test meets it
	invalid    // it does not compile
)

// result is what became of the mutants of an area.
type result struct {
	area     string
	root     string
	changed  *changed
	tests    int
	unfit    []string // tests that fail with no mutant, or take too long
	verdicts map[int]verdict
	took     time.Duration
}

// run judges all mutants of an area.
func run(root string, a area, longest time.Duration, workers int) (*result, error) {
	begin := time.Now()
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	c, binaries, err := build(root, scratch, a)
	if err != nil {
		return nil, err
	}
	r := &result{area: a.name, root: root, changed: c, verdicts: make(map[int]verdict)}
	tests, err := r.learn(scratch, a, binaries, longest)
	if err != nil {
		return nil, err
	}
	r.tests = len(tests)
	var mu sync.Mutex
	var judging errgroup.Group
	judging.SetLimit(max(workers, 1))
	order := newOrder(tests)
	for _, m := range c.mutants {
		if c.invalid[m.id] {
			continue
		}
		judging.Go(func() error {
			v := verdictOf(m, order)
			mu.Lock()
			defer mu.Unlock()
			r.verdicts[m.id] = v
			fmt.Fprintf(os.Stderr, "%s: %v: %v\n", a.name, m, v)
			return nil
		})
	}
	_ = judging.Wait() // none fails
	for id := range c.invalid {
		r.verdicts[id] = invalid
	}
	r.took = time.Since(begin)
	return r, nil
}

// learn runs each test by itself, and returns those that are fit to judge, the fastest first.
func (r *result) learn(scratch string, a area, binaries []string, longest time.Duration) (tests []test, err error) {
	for i, j := range a.judges {
		names, err := testsOf(r.root, binaries[i], j)
		if err != nil {
			return nil, err
		}
		flags := quiet(binaries[i])
		for _, name := range names {
			t := test{binary: binaries[i], folder: filepath.Join(r.root, j.folder), name: name, flags: flags}
			path := filepath.Join(scratch, "met")
			begin := time.Now()
			if passed := t.run(longest, envMet+"="+path) == nil; !passed {
				r.unfit = append(r.unfit, name)
				fmt.Fprintf(os.Stderr, "%s: %s cannot judge: with no mutant it fails, or takes more than %v\n", a.name, name, longest)
			} else {
				t.took = time.Since(begin)
				t.met = numbers(path)
				tests = append(tests, t)
			}
			os.Remove(path)
		}
	}
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return tests, nil
}

// quiet returns the flag by which rapid, if the binary has it, leaves no file in the tree for a
// test that fails.
func quiet(binary string) []string {
	const flag = "-rapid.nofailfile"
	if exec.Command(binary, flag, "-test.list", "^$").Run() != nil {
		return nil
	}
	return []string{flag}
}

// testsOf lists the tests of a judge. The table of behaviour_test.go takes too long for one: each
// of its cases, on embedded masters, is one.
func testsOf(root, binary string, j judge) ([]string, error) {
	var cases []string
	pattern := "^Test"
	if j.files != nil {
		var names []string
		for _, name := range j.files {
			source, err := os.ReadFile(filepath.Join(root, j.folder, name+"_test.go"))
			if err != nil {
				return nil, err
			}
			for _, found := range declared.FindAllSubmatch(source, -1) {
				if test := string(found[1]); !strings.HasPrefix(test, "TestBehaviour") {
					names = append(names, test)
				}
			}
			for _, found := range behaviour.FindAllSubmatch(source, -1) {
				cases = append(cases, "TestBehaviourEmbedded/"+string(found[1]))
			}
		}
		pattern = "^(" + strings.Join(names, "|") + ")$"
	}
	list := exec.Command(binary, "-test.list", pattern)
	list.Dir = filepath.Join(root, j.folder)
	out, err := list.Output()
	return append(strings.Fields(string(out)), cases...), err
}

var (
	declared  = regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	behaviour = regexp.MustCompile(`(?m)^\t\{"(\w+)", \d+, \w+\},$`)
)

func numbers(path string) (ids []int) {
	text, err := os.ReadFile(path)
	if err != nil { // it met none
		return nil
	}
	for _, field := range strings.Fields(string(text)) {
		if id, err := strconv.Atoi(field); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

var errTimedOut = errors.New("timed out")

// run runs the test with a variable in its environment.
func (t test) run(limit time.Duration, variable string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(t.name, "/", "$/^") + "$"
	cmd := exec.CommandContext(ctx, t.binary, append(slices.Clone(t.flags), "-test.run", pattern, "-test.failfast")...)
	cmd.Dir = t.folder
	cmd.Env = append(os.Environ(), variable)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return errTimedOut
	}
	return err
}

// verdictOf runs the tests that meet a mutant until one fails.
func verdictOf(m mutant, order *order) verdict {
	v := notCovered
	for _, t := range order.of(m) {
		switch err := t.run(10*t.took+5*time.Second, fmt.Sprintf("%s=%d", envChosen, m.id)); {
		case errors.Is(err, errTimedOut):
			return timedOut
		case err != nil:
			order.killed(m, t)
			return killed
		}
		v = lived
	}
	return v
}

// order is that in which tests judge: first those that killed another mutant of the file, then the
// fastest.
type order struct {
	tests []test // the fastest first

	mu    sync.Mutex
	kills map[string][]string // by file: the names of the tests, the last one first
}

func newOrder(tests []test) *order { return &order{tests: tests, kills: make(map[string][]string)} }

// of returns the tests that meet a mutant.
func (o *order) of(m mutant) []test {
	o.mu.Lock()
	kills := slices.Clone(o.kills[m.position.Filename])
	o.mu.Unlock()
	rank := func(t test) int {
		if i := slices.Index(kills, t.name); i >= 0 {
			return i
		}
		return len(kills)
	}
	var met []test
	for _, t := range o.tests {
		if slices.Contains(t.met, m.id) {
			met = append(met, t)
		}
	}
	slices.SortStableFunc(met, func(a, b test) int { return cmp.Compare(rank(a), rank(b)) })
	return met
}

// killed notes that a test killed a mutant.
func (o *order) killed(m mutant, t test) {
	o.mu.Lock()
	defer o.mu.Unlock()
	file := m.position.Filename
	others := slices.DeleteFunc(slices.Clone(o.kills[file]), func(name string) bool { return name == t.name })
	o.kills[file] = append([]string{t.name}, others...)
}

func (v verdict) String() string {
	return [...]string{"lived", "killed", "timed out", "not covered", "does not compile"}[v]
}

func (r *result) String() string {
	count := make(map[verdict]int)
	for _, v := range r.verdicts {
		count[v]++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "== %s: %d mutants: %d killed, %d lived, %d not covered, %d timed out, %d do not compile; %d tests, %v\n", r.area,
		len(r.changed.mutants), count[killed], count[lived], count[notCovered], count[timedOut], count[invalid], r.tests, r.took.Round(time.Second))
	for _, name := range r.unfit {
		fmt.Fprintf(&out, "   %s did not judge\n", name)
	}
	for _, m := range r.changed.mutants {
		if v := r.verdicts[m.id]; v != killed {
			source, _ := os.ReadFile(filepath.Join(r.root, m.position.Filename))
			fmt.Fprintf(&out, "   %v: %v: %s\n", v, m, text(source, m.position.Line))
		}
	}
	return out.String()
}
