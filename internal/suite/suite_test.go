package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each is the test file of a package, behind its imports. TestFirst and TestLast stand around what
// fails, to be run or not.
var packages = map[string]string{
	"passes": `func TestFirst(t *testing.T) { t.Run("case", func(*testing.T) {}) }
		func TestSkipped(t *testing.T) { t.Skip("it needs what is not here") }
		func Example() { fmt.Println("done") // Output: done
		}`,
	"red":   `func TestFirst(t *testing.T) {}; func TestRed(t *testing.T) { t.Error("red") }`,
	"flaky": `func TestFirst(t *testing.T) { t.Run("case", func(t *testing.T) { once(t) }) }`,
	"beside": `var first bool
		func TestFirst(t *testing.T) { first = true }
		func TestLast(t *testing.T) { if first { t.Error("only beside the first") } }`,
	"exits":   `func TestFirst(t *testing.T) { if !again() { os.Exit(1) } }; func TestLast(t *testing.T) {}`,
	"exits0":  `func TestFirst(t *testing.T) { if !again() { go os.Exit(0); select {} } }; func TestLast(t *testing.T) {}`,
	"killed":  `func TestFirst(t *testing.T) { if !again() { p, _ := os.FindProcess(os.Getpid()); p.Kill(); select {} } }; func TestLast(t *testing.T) {}`,
	"panics":  `func TestFirst(t *testing.T) { if !again() { panic("at first") } }; func TestLast(t *testing.T) {}`,
	"throws":  `func TestFirst(t *testing.T) { if !again() { var mu sync.Mutex; mu.Unlock() } }; func TestLast(t *testing.T) {}`,
	"between": `func TestFirst(t *testing.T) { t.Error("red") }; func TestMain(m *testing.M) { m.Run(); if !again() { os.Exit(3) } }`,
	"leaks":   `func TestFirst(t *testing.T) { if !again() { t.Error("red") } }; func TestMain(m *testing.M) { c := m.Run(); if c != 0 { fmt.Println("2 goroutines outlived their clients") }; os.Exit(c) }`,
	"main":    `func TestFirst(t *testing.T) {}; func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
	"broken":  `func TestFirst(t *testing.T) { nothing() }`,
	"hangs":   `func TestFirst(t *testing.T) { time.Sleep(200*time.Millisecond) }`,
}

// again reports whether it has been asked before, by a process of the same package.
const again = `
func again() bool {
	_, err := os.Stat("asked")
	os.WriteFile("asked", nil, 0o600)
	return err == nil
}
func once(t *testing.T) { if !again() { t.Error("once") } }
var _, _, _, _ = fmt.Sprint, time.Now, os.Exit, sync.NewCond
`

func TestSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26.0\n")
	for name, text := range packages {
		write(name+"/x_test.go", "package x\nimport (\"fmt\"; \"os\"; \"sync\"; \"testing\"; \"time\")\n"+text+again)
	}
	for _, c := range []struct {
		packages string
		flags    string
		wrong    string // in the error; none: it passes
		flaky    string
	}{
		{packages: "./passes"},
		{packages: "./red", wrong: "m/red.TestRed failed, and passed in no run"},
		{packages: "./passes ./red", wrong: "m/red.TestRed failed, and passed in no run"},
		{packages: "./flaky", flaky: "m/flaky.TestFirst/case: failed in 1 runs of its package, passed in another"},
		{packages: "./beside", wrong: "m/beside.TestLast failed, and passed in no run"},
		{packages: "./exits", wrong: "m/exits ended before TestFirst had"},
		{packages: "./exits0", wrong: "m/exits0"},
		{packages: "./killed", wrong: "m/killed ended before TestFirst had"},
		{packages: "./panics", wrong: "m/panics does not build, or ended before all its tests had run"},
		{packages: "./throws", wrong: "m/throws ended before TestFirst had"},
		{packages: "./between", wrong: "m/between.TestFirst failed, and passed in no run"},
		{packages: "./leaks", wrong: "m/leaks leaks goroutines"},
		{packages: "./main", wrong: "m/main failed, and no test of it did"},
		{packages: "./broken", wrong: "m/broken does not build"},
		{packages: "./nowhere", wrong: "nowhere"},
		{packages: "./passes", flags: "-run TestFirst|TestRenamed$", wrong: "-run TestRenamed$ ran no test"},
		{packages: "./passes", flags: "-run=Test(First|Gone)/case"},
		{packages: "./passes", flags: "-nonsense", wrong: "does not build"},
	} {
		t.Run(c.packages+" "+c.flags, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := &suite{dir: dir, packages: strings.Fields(c.packages), flags: append(strings.Fields(c.flags), "-count=1"), patience: time.Minute, out: &out}
			err := s.run()
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("it says %v, want %q. It printed\n%s", err, c.wrong, &out)
			}
			if flaky := strings.Join(s.flaky(), "; "); flaky != c.flaky {
				t.Errorf("flaky are %q, want %q", flaky, c.flaky)
			}
		})
	}
	t.Run("report", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		s := &suite{dir: dir, packages: []string{"./hangs", "./passes"}, flags: []string{"-count=1"}, ci: true, patience: 50 * time.Millisecond, out: &out}
		if err := s.run(); err == nil || err.Error() != "1 tests were skipped, which may not be in CI" {
			t.Errorf("in CI it says %v", err)
		}
		if !regexp.MustCompile(`tests are under way: .*m/hangs\.TestFirst`).MatchString(out.String()) {
			t.Errorf("it is silent:\n%s", &out)
		}
		for _, line := range []string{`ok  \tm/passes\t`, `--- PASS: m/passes.TestFirst/case \(`, `--- SKIP: m/passes.TestSkipped \(`} {
			if !regexp.MustCompile(`(?m)^` + line).MatchString(out.String()) {
				t.Errorf("no line is like %q:\n%s", line, &out)
			}
		}
		report := t.TempDir()
		for range 2 {
			if err := s.write(report); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]string{
			"passed":  "m/hangs.TestFirst\nm/passes.Example\nm/passes.TestFirst\nm/passes.TestFirst/case\n",
			"skipped": "m/passes.TestSkipped: it needs what is not here\n", "flaky": "",
		} {
			if text, err := os.ReadFile(filepath.Join(report, name)); err != nil || string(text) != want+want {
				t.Errorf("%s: %q, %v; want %q twice", name, text, err, want)
			}
		}
	})
}
