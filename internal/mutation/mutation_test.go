package main

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each kind of change in testdata/sample has the verdict that its test gives it.
func TestVerdicts(t *testing.T) {
	sample := "internal/mutation/testdata/sample"
	r, err := run("../..", area{"sample", []string{sample + "/*.go"}, []judge{{sample, []string{"sample"}}}}, 10*time.Second, 4)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/sample/sample.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.changed.mutants {
		got = append(got, fmt.Sprintf("%s: %s: %v", text(source, m.position.Line), m.change, r.verdicts[m.id]))
	}
	want := []string{
		"if a > b {: > to >=: lived",
		"if a > b {: > to <=: killed",
		`if word == "" {: == to !=: killed`,
		"continue: continue to break: killed",
		"n++: ++ to --: killed",
		"return from <= at &&: <= to <: killed",
		"return from <= at &&: <= to >: killed",
		"at < to: < to <=: lived",
		"at < to: < to >=: killed",
		"return from <= at &&: && to ||: killed",
		"for n > 0 {: > to >=: killed",
		"for n > 0 {: > to <=: killed",
		"n--: -- to ++: timed out",
		"return d + d: + to -: does not compile", // the file has another name for package time
		"if next() == 0 {: == to !=: timed out",
		"return a != 1: != to ==: not covered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"TestThatFails"}; !slices.Equal(r.unfit, want) {
		t.Errorf("did not judge: %v, want %v", r.unfit, want)
	}
	if line := "lived: " + filepath.Join(sample, "sample.go") + ":7: > to >=: if a > b {"; !strings.Contains(r.String(), line) {
		t.Errorf("it prints:\n%swithout %q", r, line)
	}
}

// Every file that an area names is there, as are the tests that judge it.
func TestAreasAreWhatThereIs(t *testing.T) {
	for _, a := range areas {
		if _, err := expand("../..", a.files); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
		for _, j := range a.judges {
			for _, name := range append(j.files, "*") {
				if found, err := filepath.Glob(filepath.Join("../..", j.folder, name+"_test.go")); err != nil || len(found) == 0 {
					t.Errorf("%s: there is no test file %s in %s", a.name, name, j.folder)
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose(areas, []string{"fence", "clock"})
	if err != nil || !slices.Equal(names(chosen), []string{"fence", "clock"}) {
		t.Errorf("got %v, %v", names(chosen), err)
	}
	if chosen, err := choose(areas, nil); err != nil || len(chosen) != len(areas) {
		t.Errorf("without names: %d areas, %v", len(chosen), err)
	}
	if _, err := choose(areas, []string{"clocks"}); err == nil || !strings.Contains(err.Error(), `"clocks"`) {
		t.Errorf("an area that is not there: %v", err)
	}
}

// The tests that killed another mutant of the file come first, the last one before the others; then
// the fastest.
func TestOrder(t *testing.T) {
	t.Parallel()
	in := func(file string, id int) mutant {
		return mutant{id: id, position: token.Position{Filename: file}}
	}
	all := []test{{name: "a", met: []int{1, 2, 3}}, {name: "b", met: []int{1, 3}}, {name: "c", met: []int{1, 2, 3}}, {name: "d", met: []int{3}}}
	o := newOrder(all)
	o.killed(in("x", 1), all[1])
	o.killed(in("x", 1), all[3])
	o.killed(in("x", 1), all[2])
	o.killed(in("x", 1), all[3])
	for _, x := range []struct {
		m    mutant
		want string
	}{{in("x", 3), "dcba"}, {in("x", 2), "ca"}, {in("y", 3), "abcd"}} {
		got := ""
		for _, t := range o.of(x.m) {
			got += t.name
		}
		if got != x.want {
			t.Errorf("%s, mutant %d: %s, want %s", x.m.position.Filename, x.m.id, got, x.want)
		}
	}
}

// Each case of the table of behaviours is a test that judges.
func TestBehavioursAreFound(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../behaviour_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(source), "var behaviours = []behaviour{\n")
	table, _, _ = strings.Cut(table, "\n}\n")
	if found, want := len(behaviour.FindAll(source, -1)), strings.Count(table, "{"); found != want || found == 0 {
		t.Errorf("%d cases are found, want %d", found, want)
	}
}
