//go:build unix

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/play"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestSchedule(t *testing.T) {
	t.Parallel()
	c := Config{Duration: 100 * time.Second}
	_, p := c.plan()
	for seed := range uint64(50) {
		s, err := c.schedule(seed, p)
		if err != nil {
			t.Fatal(err)
		}
		if within := s.Before(p.InModel); !within.InModel(masterCount, maxTTL) || len(within) < 20 {
			t.Errorf("seed %d: the first %d faults are not within the fault model, or few: %s", seed, len(within), within.String())
		}
		var majority, stopped bool
		for _, f := range s.From(p.InModel) {
			majority = majority || f.Fault.Kind == fault.Clock && f.Fault.Masters.Count() > masterCount/2
			stopped = stopped || f.Fault.Kind == fault.StopClient && f.Fault.Span > ttl
			if f.At < 0 || f.At > p.OutOfModel {
				t.Errorf("seed %d: %v is not in its phase", seed, f)
			}
		}
		if !majority || !stopped {
			t.Errorf("seed %d: no majority of clocks jumps, or no client is stopped past its lease", seed)
		}

		pasted := c
		pasted.Faults = s.String()
		reread, err := pasted.schedule(0, p)
		if err != nil || !slices.Equal(reread, s) {
			t.Errorf("seed %d: what is printed is read as %v, %v", seed, reread, err)
		}
	}
}

func TestScheduleErrors(t *testing.T) {
	t.Parallel()
	_, p := Config{}.plan()
	for text, why := range map[string]string{
		"1s nonsense(m0)":              "no kind",
		"1s clock(m0,5s,1s)":           "within the fault model",
		"1s stop-client(c0,1s)":        "within the fault model",
		"1s flushall(m0+m1+m2)":        "within the fault model",
		"2s freeze(m0,1s); 1s kill(m1": "kind(parameters)",
	} {
		if _, err := (Config{Faults: text}).schedule(0, p); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want an error with %q", text, err, why)
		}
	}
	if s, err := (Config{Faults: "1h clock(m0,5s,1s)"}).schedule(0, p); err != nil || len(s) != 1 {
		t.Errorf("a clock that jumps outside of the fault model: %v, %v", s, err)
	}
}

// Scenarios can be parsed, and name only masters and clients that exist.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios {
		c := Config{Scenario: s.Name}
		rounds, p := c.plan()
		if rounds != 1 || p.InModel+p.OutOfModel == 0 {
			t.Errorf("%s: %d rounds of %+v", s.Name, rounds, p)
		}
		faults, err := c.schedule(1, p)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, f := range faults {
			if f.At > p.InModel+p.OutOfModel || f.Fault.Masters|f.Fault.Spare >= 1<<(masterCount+spareCount) {
				t.Errorf("%s: %v is too late, or hits masters that there are not", s.Name, f)
			}
		}
		for i := range clientCount {
			for life := range 2 {
				if list := s.list(i, life+1); len(list) < masterCount/2+1 {
					t.Errorf("%s: client %d names only %v", s.Name, i, list)
				}
			}
		}
		for _, service := range s.Serves {
			if service.From >= service.To || service.To > p.InModel+p.OutOfModel {
				t.Errorf("%s: no client can be served as %v", s.Name, service)
			}
		}
	}
	if _, err := Run(t.Context(), Config{Scenario: "nonsense"}); err == nil || !strings.Contains(err.Error(), "no scenario") {
		t.Errorf("%v, want that there is no such scenario", err)
	}
}

func TestRoundCommand(t *testing.T) {
	t.Parallel()
	r := round{Config: Config{Engine: "process"}, seed: 3, phases: play.Phases{InModel: time.Minute, OutOfModel: time.Second, Healed: time.Second}}
	r.faults = fault.Schedule{{At: time.Second, Fault: fault.Fault{Kind: fault.FlushAll, Masters: fault.MastersOf(1)}}}
	want := "go test -run 'TestChaos$' . -chaos.seed=3 -chaos.duration=1m2s -chaos.engine=process -chaos.faults='1s flushall(m1)'"
	if got := r.command(); got != want {
		t.Errorf("command is\n%s\nwant\n%s", got, want)
	}
}

// inShell returns clients whose program is a shell script.
func inShell(t *testing.T, text string) *clients {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return newClients(2, path, t.TempDir(), history.StartClock(), func(int, int) []string { return nil })
}

// trapping returns a script that runs onTerm at each SIGTERM, and a function that waits until these clients have set
// the trap.
func trapping(t *testing.T, onTerm string) (text string, await func(*clients, ...int)) {
	trapped := t.TempDir()
	await = func(c *clients, numbers ...int) {
		t.Helper()
		for _, i := range numbers {
			harness.Eventually(t, "the trap is set", func() bool {
				_, err := os.Stat(filepath.Join(trapped, fmt.Sprint(c.procs[i].cmd.Process.Pid)))
				return err == nil
			})
		}
	}
	return fmt.Sprintf("trap '%s' TERM; touch %s/$$; while :; do sleep 0.05; done", onTerm, trapped), await
}

func TestClientsStopAndKill(t *testing.T) {
	t.Parallel()
	text, await := trapping(t, "exit 0")
	c := inShell(t, text)
	do := func(what string, f func(string) error) {
		t.Helper()
		if err := f("c0"); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	do("kill of none", c.Kill)
	do("start", c.Restart)
	do("start of one that runs", c.Restart)
	do("stop", c.Stop)
	do("stop of one that is", c.Stop)
	do("kill of one that is stopped", c.Kill)
	do("stop of one that is dead", c.Stop)
	do("restart", c.Restart)
	await(c, 0)
	do("stop", c.Stop)
	if c.lives[0] != 2 {
		t.Errorf("%d lives, want 2", c.lives[0])
	}
	if err := c.Stop("c2"); err == nil {
		t.Error("a client was stopped that is not there")
	}
	if err := c.end(endTime); err != nil {
		t.Error(err)
	}
}

func TestClientExit(t *testing.T) {
	t.Parallel()
	c := inShell(t, "echo 'what it said' >&2; exit 7")
	if err := c.Restart("c0"); err != nil {
		t.Fatal(err)
	}
	<-c.procs[0].exited
	for what, err := range map[string]error{"failed": c.failed(), "end": c.end(endTime)} {
		if err == nil || !strings.Contains(err.Error(), "what it said") {
			t.Errorf("%s: %v, want an error with its output", what, err)
		}
	}
}

func TestClientsThatDoNotEndAreKilled(t *testing.T) {
	t.Parallel()
	text, await := trapping(t, "")
	c := inShell(t, text)
	for _, client := range []string{"c0", "c1"} {
		if err := c.Restart(client); err != nil {
			t.Fatal(err)
		}
	}
	await(c, 0, 1)
	err := c.end(time.Second)
	if text := fmt.Sprint(err); strings.Count(text, "did not end within 1s and was killed") != 2 {
		t.Errorf("end: %v, want both clients killed", err)
	}
}
