package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// sound is the record of a performance that went well.
func sound() record {
	return record{
		seed: 1, masters: "embedded", took: 4 * time.Second,
		// 1 overlaps with the first try of 2, which had to wait for nobody.
		acquisitions: []acquisition{
			{worker: 0, begun: 10, had: 20, token: 100},
			{worker: 1, begun: 15, had: 40, token: 103},
			{worker: 2, begun: 30, had: 35, token: 101},
			{worker: 0, begun: 50, had: 60, token: 104},
		},
		done: 3, found: 3, refused: 1, landed: []fence.Token{100, 103, 103, 104},
		bareDone: 4, bareFound: 2, killed: 2, frozen: 1, paused: 1, longestWait: time.Second,
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		spoil func(*record)
		fails string // the one check that does
		says  string
	}{
		{"nothing wrong", func(*record) {}, "", ""},
		{"lost increment", func(r *record) { r.found-- }, "increments", "3 done, 2 found"},
		{"increment from nowhere", func(r *record) { r.found++ }, "increments", "3 done, 4 found"},
		{"nothing done", func(r *record) { r.done, r.found = 0, 0 }, "increments", "0 done, 0 found"},
		{"token goes back", func(r *record) { r.acquisitions[3].token = 102 }, "tokens", "103 (worker 2, completed at 40ns), then 102 (worker 1, begun at 50ns)"},
		{"token repeats later", func(r *record) { r.acquisitions[3].token = 103 }, "tokens", "103"},
		{"token repeats in an overlap", func(r *record) { r.acquisitions[1].token = 101 }, "tokens", "101"},
		{"token is zero", func(r *record) { r.acquisitions[0].token = 0 }, "tokens", "0"},
		{"no token", func(r *record) { r.acquisitions = nil }, "tokens", "none"},
		{"order of recording means nothing", func(r *record) {
			r.acquisitions[0], r.acquisitions[3] = r.acquisitions[3], r.acquisitions[0]
		}, "", ""},
		{"nothing refused", func(r *record) { r.refused = 0 }, "stale writes", "0 refused, 0 landed"},
		{"stale write landed", func(r *record) { r.landed[3] = 101 }, "stale writes", "1 refused, 1 landed"},
		{"something broke", func(r *record) { r.failures = []string{"worker 1: client closed"} }, "failures", "worker 1: client closed"},
	} {
		r := sound()
		c.spoil(&r)
		v := judge(r)
		if v.OK != (c.fails == "") {
			t.Errorf("%s: ok is %v", c.what, v.OK)
		}
		for _, got := range v.Checks {
			if got.OK != (got.Name != c.fails) || got.Name == c.fails && !strings.Contains(got.Detail, c.says) {
				t.Errorf("%s: check %q ok %v: %s", c.what, got.Name, got.OK, got.Detail)
			}
		}
	}
	interrupted := sound()
	interrupted.interrupted = true
	if v := judge(interrupted); v.OK || !v.Interrupted {
		t.Errorf("interrupted: ok %v, interrupted %v", v.OK, v.Interrupted)
	}
}

// The check of the order, against the definition.
func TestFirstDisorder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	disorders := 0
	for range 20_000 {
		all := make([]acquisition, 1+rng.IntN(6))
		for i := range all {
			begun := time.Duration(rng.IntN(12))
			all[i] = acquisition{begun: begun, had: begun + time.Duration(rng.IntN(4)), token: fence.Token(1 + begun + time.Duration(rng.IntN(4)))}
		}
		want := false
		for i, a := range all {
			for j, b := range all {
				want = want || i != j && (a.token == b.token || a.had < b.begun && a.token > b.token)
			}
		}
		if _, _, found := firstDisorder(all); found != want {
			t.Fatalf("%+v: found %v, want %v", all, found, want)
		} else if found {
			disorders++
		}
	}
	if disorders < 1000 || disorders > 19_000 {
		t.Errorf("%d of 20000 were out of order: the inputs are one-sided", disorders)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		for _, whole := range []time.Duration{minDuration, 4 * time.Second, 15 * time.Second, time.Minute} {
			out := map[int]faultKind{}
			counts := map[faultKind]int{}
			last := time.Duration(0)
			for _, f := range plan(rand.New(rand.NewPCG(seed, 0)), whole) {
				if f.at < last || f.at > whole {
					t.Fatalf("seed %d, %v: a fault at %v comes after one at %v", seed, whole, f.at, last)
				}
				last = f.at
				counts[f.do]++
				switch before, gone := out[f.master]; f.do {
				case killMaster, freezeMaster:
					if gone {
						t.Fatalf("seed %d, %v: master %d is down twice", seed, whole, f.master)
					}
					out[f.master] = f.do
				case restartMaster, thawMaster:
					if !gone || (before == killMaster) != (f.do == restartMaster) {
						t.Fatalf("seed %d, %v: master %d is brought back from what it did not suffer", seed, whole, f.master)
					}
					delete(out, f.master)
				case pauseHolder:
					if whole-f.at < 2*demoTTL {
						t.Fatalf("seed %d, %v: a holder is paused at %v, too late to wake up", seed, whole, f.at)
					}
				}
				if len(out) > demoMasters/2 {
					t.Fatalf("seed %d, %v: a majority is down", seed, whole)
				}
			}
			if len(out) > 0 || counts[killMaster] == 0 || counts[freezeMaster] == 0 || counts[pauseHolder] == 0 {
				t.Fatalf("seed %d, %v: %v left down, faults %v", seed, whole, out, counts)
			}
		}
	}
}

// What is always there must fit on a terminal of 80 x 24 and leave room for the story.
func TestPanelFits(t *testing.T) {
	t.Parallel()
	s := newStage(demoMasters, demoWorkers)
	s.open()
	for i := range demoMasters {
		s.master(i, masterKilled)
	}
	const token = 1_999_999_999_999
	s.scene.holder, s.scene.until = 2, time.Now().Add(demoTTL)
	s.scene.granted = []bool{true, true, true, true, true}
	s.record.done, s.record.found, s.record.bareDone, s.record.bareFound, s.record.refused = 999, 999, 999, 900, 99
	for i := range s.scene.workers {
		s.scene.workers[i] = workerScene{doing: paused, token: token, increments: 999, refused: 99}
	}
	s.wrote(0, token, 1000, time.Now(), &fence.StaleError{Resource: demoLock, Token: token, Highest: token})
	p := &panelView{headline: "5 redis-server masters, 5 workers, one lock, seed 999999", whole: time.Minute}
	now := s.look()
	lines := p.panel(now)
	if len(lines) > 24-6 {
		t.Errorf("the panel is %d lines high", len(lines))
	}
	lines = append(lines, p.story(now, 24-len(lines)-1)...)
	lines = append(lines, verdictLines(judge(sound()))...)
	for _, line := range lines {
		if text := ansi.Strip(line); len(text) > 80 {
			t.Errorf("%d columns wide: %s", len(text), text)
		}
	}
}

// One of something is not several.
func TestOne(t *testing.T) {
	t.Parallel()
	if got := counted(0, "kill") + ", " + counted(1, "kill") + ", " + counted(2, "kill"); got != "0 kills, 1 kill, 2 kills" {
		t.Error(got)
	}
	r := record{
		acquisitions: []acquisition{{token: 1}}, done: 1, found: 1, refused: 1, bareDone: 1, bareFound: 1, killed: 1, frozen: 1, paused: 1,
		failures: []string{"worker 1: broken"},
	}
	s := newStage(demoMasters, demoWorkers)
	s.record = r
	for i := range s.scene.workers {
		s.scene.workers[i] = workerScene{increments: 1, refused: 1}
	}
	several := regexp.MustCompile(`\b1 [a-z]+s\b`)
	for _, line := range slices.Concat((&panelView{}).panel(s.look()), verdictLines(judge(r))) {
		if text := ansi.Strip(line); several.MatchString(text) {
			t.Errorf("it says %q", text)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	line := strong.of("né") + "xy" + good.of("z")
	for _, c := range []struct {
		line  string
		width int
		color bool
		want  string
	}{
		{line, 10, false, "néxyz"},
		{line, 5, false, "néxyz"},
		{line, 4, false, "néx…"},
		{line, 2, false, "n…"},
		{line, 1, false, "…"},
		{line, 0, true, ""},
		{line, -1, false, ""},
		{line, 10, true, "\x1b[1mné\x1b[mxy\x1b[32mz\x1b[m"},
		{line, 4, true, "\x1b[1mné\x1b[mx…\x1b[32m\x1b[m"},
		{"鍵鍵鍵", 5, false, "鍵鍵…"}, // each is two columns wide
	} {
		if got := fit(c.line, c.width, c.color); got != c.want {
			t.Errorf("%q, width %d, color %v: %q, want %q", c.line, c.width, c.color, got, c.want)
		}
	}
}

// A worker that wakes up is said to write: the panel, which leaves out what is minor, tells what
// came of it.
func TestAnAnnouncedWriteHasAnOutcome(t *testing.T) {
	t.Parallel()
	const token = 7
	for _, c := range []struct {
		what string
		err  error
		says string
	}{
		{"overtaken", &fence.StaleError{Resource: demoLock, Token: token, Highest: 9}, "is REFUSED: token 7 is older than 9"},
		{"nobody came", nil, "increments to 5 with token 7"},
		{"broken", errors.New("no space"), "FAILED to write: no space"},
	} {
		s := newStage(demoMasters, demoWorkers)
		s.open()
		write := func() {
			s.wroteBare(0, token, 5, 8, time.Now())
			s.wrote(0, token, 5, time.Now(), c.err)
		}
		told := func() (lines []string) {
			for _, line := range (&panelView{}).story(s.look(), 100) {
				_, what, _ := strings.Cut(ansi.Strip(line), "worker 1  ")
				lines = append(lines, what)
			}
			return lines
		}
		s.wakes(0, token)
		write()
		want := []string{"wakes up and writes, as if it still had the lock", "writes where there is no fence: 8 becomes 5", c.says}
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.what, got, want)
		}
		if c.err == nil {
			if write(); len(told()) != len(want) {
				t.Errorf("%s: the next write, which was not announced, is told too: %q", c.what, told())
			}
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"embedded", "redis-server"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			args := []string{"demo", "--duration=4s", "--json", "--seed=42"}
			if kind == "redis-server" {
				args = append(args, "--real")
				_, err := exec.LookPath("redis-server")
				testskip.IfLacking(t, err, exec.ErrNotFound)
			}
			r := redlockEnds(t, args...)
			r.wants(t, exitOK)
			var v verdict
			harness.Must(t, json.Unmarshal([]byte(r.stdout), &v))
			if r.stderr != "" || !v.OK || v.Masters != kind || v.Seed != 42 || v.TookMS < 4000 ||
				v.MastersKilled == 0 || v.MastersFrozen == 0 || v.HoldersPaused == 0 || v.StaleRefused == 0 ||
				v.Tokens < v.IncrementsDone || v.UnfencedLost == 0 || v.LongestWaitMS < demoTTL.Milliseconds() {
				t.Errorf("stdout %s\nstderr %s", r.stdout, r.stderr)
			}
		})
	}
}

// Without a terminal there is a line for each event, and no escape sequence.
func TestDemoLines(t *testing.T) {
	t.Parallel()
	r := redlockEnds(t, "demo", "--duration=4s")
	r.wants(t, exitOK)
	for _, want := range []string{"is killed", "is back, with its data", "is frozen", "goes on", "is paused", "takes over", "wakes up", "writes where there is no fence", "is REFUSED", "increments to 1 with token", "PASSED", "strictly growing"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in %s", want, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "\x1b") {
		t.Errorf("escape sequences in %q", r.stdout)
	}
}

// The report tells the same as the verdict.
func TestDemoReport(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.html")
	r := redlockEnds(t, "demo", "--duration=4s", "--seed=7", "--json", "--report", file)
	r.wants(t, exitOK)
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	for _, want := range []string{
		"No violation", "redlock demo --seed 7 --duration 4s", `"name":"m5"`, `"name":"worker 5"`, `"kind":"waiting"`, `"kind":"holding"`, `"kind":"leaving"`,
		`"kind":"down"`, `"kind":"frozen"`, `"kind":"stopped"`, `"kind":"wrong"`, `"kind":"refused"`, `"kind":"unfenced"`, `"kind":"wrote"`, `"text":"kill m`,
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in the report", want)
		}
	}
	var v verdict
	harness.Must(t, json.Unmarshal([]byte(r.stdout), &v))
	if n := bytes.Count(text, []byte(`"kind":"refused"`)); n != v.StaleRefused {
		t.Errorf("%d refused writes in the report, %d in the verdict", n, v.StaleRefused)
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	run := start(t, command(t, "demo", "--duration=1h"))
	run.line("increments to 1 ")
	run.signal(syscall.SIGINT)
	run.line("INTERRUPTED")
	if status := run.status(); status != 130 {
		t.Errorf("status %d, want 130", status)
	}
}

func TestDemoBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--duration=2s"}, "invalid --duration 2s: must be at least 3s"},
		{[]string{"--seed=-1"}, `invalid --seed "-1": must be a whole number, 0 or more (redlock help demo tells all flags)`},
		{[]string{"--report=" + filepath.Join(t.TempDir(), "none", "a.html")}, "--report: open "},
		{[]string{"fast"}, "there is an argument too many: redlock help demo tells what it takes"},
	} {
		r := redlockEnds(t, append([]string{"demo"}, c.args...)...)
		if r.status != exitUsage || !strings.Contains(r.stderr, "redlock: "+c.says) || r.stdout != "" {
			t.Errorf("%q: status %d, stdout %q, stderr %q", c.args, r.status, r.stdout, r.stderr)
		}
	}
	cmd := command(t, "demo", "--real")
	cmd.Env = append(cmd.Env, "PATH=")
	r := runToEnd(t, cmd)
	if r.status != exitUnavailable || !strings.Contains(r.stderr, "redis-server is not on the PATH") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("no redis-server: status %d, stderr %q", r.status, r.stderr)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	a, b := errors.New("redlock: one\n  and more"), errors.New("redlock: two")
	got := lines(errors.Join(a, errors.Join(b)))
	if len(got) != 2 || got[0] != "one; and more" || got[1] != "two" {
		t.Errorf("%q", got)
	}
}

// What a server says does not steer the terminal.
func TestServerWordsAreEscaped(t *testing.T) {
	t.Parallel()
	evil := errors.New("ERR \x1b[2J\x1b]0;title\a")
	const want = `ERR \x1b[2J\x1b]0;title\a`
	if got := lines(errors.Join(evil, evil)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("lines are %q", got)
	}
	s := newStage(demoMasters, demoWorkers)
	s.open()
	s.fail("master 1", evil)
	s.wrote(0, 1, 1, time.Now(), evil)
	s.left(0, 1, &redlock.QuorumError{Reason: evil})
	for _, e := range s.look().events {
		if !strings.Contains(e.what, want) {
			t.Errorf("the story says %q", e.what)
		}
	}
	for _, failure := range s.finish().failures {
		if !strings.Contains(failure, want) {
			t.Errorf("the verdict says %q", failure)
		}
	}
}
