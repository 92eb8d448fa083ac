package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// event is what go test -json prints a line of: see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// pkg is one run of the tests of a package. Its tests have the package in front of their name.
type pkg struct {
	name           string
	passed, failed []test
	skipped        map[test]string    // why
	open           map[test]time.Time // tests that have begun and not ended
	output         map[test][]string  // of those; what is the package's own has no name
	whole          bool               // all its tests have run: testing has said PASS or FAIL
	action         string             // of its end
	harm           []string           // what fails a package although the next run may not show it
}

// harms are lines that fail a package at once, and what they mean.
var harms = map[string]string{
	"WARNING: DATA RACE":                "has a data race",
	"goroutines outlived their clients": "leaks goroutines", // see TestMain
}

// fault is what no further run can mend.
func (p *pkg) fault() error {
	var open []string
	for _, t := range sorted(p.open) {
		open = append(open, t.name)
	}
	switch {
	case len(p.harm) > 0:
		return fmt.Errorf("%s %s", p.name, strings.Join(p.harm, ", "))
	case len(open) > 0:
		return fmt.Errorf("%s ended before %s had", p.name, strings.Join(open, ", "))
	case p.action == "":
		return fmt.Errorf("%s did not end", p.name)
	case p.action == "skip": // no test files
		return nil
	case !p.whole:
		return fmt.Errorf("%s does not build, or ended before all its tests had run", p.name)
	case p.action == "fail" && len(p.failed) == 0:
		return fmt.Errorf("%s failed, and no test of it did", p.name)
	}
	return nil
}

// goTest runs packages once, and returns what came of each, by name. The error is that go test
// itself did not do its work.
func (s *suite) goTest(packages []string) (map[string]*pkg, error) {
	cmd := exec.Command("go", slices.Concat([]string{"test", "-json"}, packages, s.flags)...)
	cmd.Dir = s.dir
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(pipe); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	all := map[string]*pkg{}
	began := time.Now()
	silence := time.NewTicker(s.patience)
	defer silence.Stop()
	for open := true; open; {
		var line []byte
		select {
		case line, open = <-lines:
			var e event
			switch {
			case !open:
			case json.Unmarshal(line, &e) != nil:
				fmt.Fprintf(s.out, "%s", line)
			case s.see(all, e):
				silence.Reset(s.patience)
			}
		case <-silence.C:
			fmt.Fprintf(s.out, "... %s: %s\n", time.Since(began).Round(time.Second), underWay(all))
		}
	}
	err = cmd.Wait()
	for _, p := range all {
		if p.action == "fail" {
			return all, nil // it has told why
		}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("there are no packages")
	}
	if err != nil {
		err = fmt.Errorf("go test %s: %w", strings.Join(packages, " "), err)
	}
	return all, err
}

// see takes in what go test tells, and reports whether it has printed something.
func (s *suite) see(all map[string]*pkg, e event) (printed bool) {
	if e.Package == "" {
		fmt.Fprint(s.out, e.Output) // of a build
		return e.Output != ""
	}
	p := all[e.Package]
	if p == nil {
		p = &pkg{name: e.Package, skipped: map[test]string{}, open: map[test]time.Time{}, output: map[test][]string{}}
		all[e.Package] = p
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "run", "cont":
		p.open[t] = time.Now()
		return false
	case "output":
		for text, means := range harms {
			if strings.Contains(e.Output, text) && !slices.Contains(p.harm, means) {
				p.harm = append(p.harm, means)
			}
		}
		if e.Test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n") {
			p.whole = true
		}
		if !strings.HasPrefix(e.Output, "=== ") && !strings.HasPrefix(strings.TrimSpace(e.Output), "--- ") {
			p.output[t] = append(p.output[t], e.Output)
		}
		return false
	case "pass", "fail", "skip":
	default:
		return false
	}
	// As go test says it, but that a test has its package in front.
	if e.Test == "" {
		fmt.Fprintf(s.out, "%-4s\t%s\t%.3fs\n", map[string]string{"pass": "ok", "fail": "FAIL", "skip": "?"}[e.Action], e.Package, e.Elapsed)
		p.action = e.Action
		if e.Action == "fail" {
			for _, t := range sorted(p.open) { // what it said last may tell why
				fmt.Fprint(s.out, strings.Join(p.output[t], ""))
			}
		}
	} else {
		fmt.Fprintf(s.out, "--- %s: %s (%.2fs)\n", strings.ToUpper(e.Action), t, e.Elapsed)
		delete(p.open, t)
		switch e.Action {
		case "pass":
			p.passed = append(p.passed, t)
		case "fail":
			p.failed = append(p.failed, t)
		case "skip":
			p.skipped[t] = reason(p.output[t])
		}
	}
	if e.Action != "pass" || e.Test != "" && slices.Contains(s.flags, "-v") {
		fmt.Fprint(s.out, strings.Join(p.output[t], ""))
	}
	delete(p.output, t)
	return true
}

// reason is what a test said last before it was skipped, on one line.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if _, why, found := strings.Cut(line, ".go:"); found {
			_, why, _ = strings.Cut(why, ": ")
			return strings.TrimSpace(why)
		}
	}
	return "it does not say why"
}

// underWay names the tests that went on last, without those that wait for their cases.
func underWay(all map[string]*pkg) string {
	open := map[test]time.Time{}
	for _, p := range all {
		maps.Copy(open, p.open)
	}
	tests := sorted(open)
	tests = slices.DeleteFunc(tests, func(t test) bool {
		for other := range open {
			if strings.HasPrefix(other.String(), t.String()+"/") {
				return true
			}
		}
		return false
	})
	if len(tests) == 0 {
		return "go builds"
	}
	slices.SortFunc(tests, func(a, b test) int { return open[b].Compare(open[a]) })
	var names []string
	for _, t := range tests[:min(len(tests), 3)] {
		names = append(names, t.String())
	}
	return fmt.Sprintf("%d tests are under way: %s", len(tests), strings.Join(names, ", "))
}
