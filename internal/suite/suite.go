package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// runs is how often a package is run, at most.
const runs = 3

// suite is the tests of some packages, and what has come of them.
type suite struct {
	dir      string
	packages []string // as go test takes them
	flags    []string
	ci       bool
	patience time.Duration // without a line of output
	out      io.Writer

	passed  map[test]bool   // in any run
	skipped map[test]string // why
	failed  map[test]int    // in how many
}

// run runs the packages, and again those with a test that has failed and never passed. The error
// tells what is wrong, in a line each.
func (s *suite) run() error {
	s.passed, s.skipped, s.failed = map[test]bool{}, map[test]string{}, map[test]int{}
	packages := s.packages
	var faults []error
	for n := 1; n <= runs && len(packages) > 0; n++ {
		if n > 1 {
			fmt.Fprintln(s.out, "again, since tests failed:", strings.Join(packages, " "))
		}
		all, err := s.goTest(packages)
		faults = append(faults, err)
		packages = nil
		for _, name := range slices.Sorted(maps.Keys(all)) {
			p := all[name]
			s.add(p)
			if fault := p.fault(); fault != nil {
				faults = append(faults, fault)
				continue
			}
			if slices.ContainsFunc(p.failed, s.neverPassed) {
				packages = append(packages, name)
			}
		}
	}
	for _, t := range sorted(s.failed) {
		if s.neverPassed(t) {
			faults = append(faults, fmt.Errorf("%s failed, and passed in no run", t))
		}
	}
	faults = append(faults, s.ranNothing())
	if s.ci && len(s.skipped) > 0 {
		faults = append(faults, fmt.Errorf("%d tests were skipped, which may not be in CI", len(s.skipped)))
	}
	return errors.Join(faults...)
}

// add counts what a package's run has shown.
func (s *suite) add(p *pkg) {
	for _, t := range p.passed {
		s.passed[t] = true
	}
	maps.Copy(s.skipped, p.skipped)
	for _, t := range p.failed {
		s.failed[t]++
	}
}

// neverPassed reports it of the test as a whole: its cases may have another name each time.
func (s *suite) neverPassed(t test) bool { return !s.passed[t.root()] && s.skipped[t.root()] == "" }

// test is a test, or a case of one.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + "." + t.name }

// root is the test that a case belongs to.
func (t test) root() test {
	name, _, _ := strings.Cut(t.name, "/")
	return test{t.pkg, name}
}

// sorted are the tests of a map, in order.
func sorted[V any](tests map[test]V) []test {
	return slices.SortedFunc(maps.Keys(tests), func(a, b test) int { return strings.Compare(a.String(), b.String()) })
}

// ranNothing reports the alternatives of -run that no test has the name of.
func (s *suite) ranNothing() error {
	pattern := ""
	for i, flag := range s.flags {
		if value, is := strings.CutPrefix(flag, "-run="); is {
			pattern = value
		} else if flag == "-run" && i+1 < len(s.flags) {
			pattern = s.flags[i+1]
		}
	}
	if pattern == "" {
		if len(s.passed)+len(s.skipped)+len(s.failed) == 0 {
			return errors.New("no test was run")
		}
		return nil
	}
	pattern, _, _ = strings.Cut(pattern, "/")
	alternatives := strings.Split(pattern, "|")
	for _, a := range alternatives {
		if _, err := regexp.Compile(a); err != nil { // the | is in parentheses
			alternatives = []string{pattern}
			break
		}
	}
	var errs []error
	for _, a := range alternatives {
		expression, err := regexp.Compile(a)
		if err != nil {
			return err
		}
		named := func(t test) bool { return expression.MatchString(t.root().name) }
		if !slices.ContainsFunc(slices.Concat(sorted(s.passed), sorted(s.skipped), sorted(s.failed)), named) {
			errs = append(errs, fmt.Errorf("-run %s ran no test", a))
		}
	}
	return errors.Join(errs...)
}

// flaky are the tests that failed and passed, without those that failed for a case of theirs.
func (s *suite) flaky() (all []string) {
	failed := sorted(s.failed)
	for _, t := range failed {
		ofCase := func(other test) bool { return strings.HasPrefix(other.String(), t.String()+"/") }
		if !s.neverPassed(t) && !slices.ContainsFunc(failed, ofCase) {
			all = append(all, fmt.Sprintf("%s: failed in %d runs of its package, passed in another", t, s.failed[t]))
		}
	}
	return all
}

// write appends to the files of the report.
func (s *suite) write(folder string) error {
	if folder == "" {
		return nil
	}
	var errs []error
	var passed, skipped []string
	for _, t := range sorted(s.passed) {
		passed = append(passed, t.String())
	}
	for _, t := range sorted(s.skipped) {
		skipped = append(skipped, t.String()+": "+s.skipped[t])
	}
	for name, lines := range map[string][]string{"passed": passed, "skipped": skipped, "flaky": s.flaky()} {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		for _, line := range lines {
			_, err := fmt.Fprintln(file, line)
			errs = append(errs, err)
		}
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}
