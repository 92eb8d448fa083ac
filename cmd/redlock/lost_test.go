//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestKillAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ grace, after time.Duration }{
		{0, 0},
		{time.Second, 900 * time.Millisecond},
		{5 * time.Second, 4500 * time.Millisecond},
		{25 * time.Second, 24500 * time.Millisecond},
		{30 * time.Second, 29400 * time.Millisecond},
		{55 * time.Second, 53900 * time.Millisecond},
	} {
		if got := killAfter(c.grace); got != c.after {
			t.Errorf("killAfter(%v) = %v, want %v", c.grace, got, c.after)
		}
		// This is the arithmetic of the help text. Both times count from the acquisition: ends is the end of
		// the lease, and free is when a master whose clock is 1 % fast frees the lock.
		const ttl = 5 * time.Second
		ends := ttl - ttl/100 - 2*time.Millisecond
		free := time.Duration(float64(ttl+c.grace) / 1.01)
		if killAfter(c.grace) > free-ends {
			t.Errorf("grace %v: killed %v after the lease, but it can be another's after %v", c.grace, killAfter(c.grace), free-ends)
		}
	}
}

// A renewal may be decided before a master has answered. Such a master is not away.
func TestUndecidedVoteIsNotAway(t *testing.T) {
	t.Parallel()
	a := &away{masters: map[string]absence{}}
	a.observer().RenewalFailed(t.Context(), redlock.FailedRenewal{Err: &redlock.QuorumError{Votes: []redlock.Vote{
		{Master: "slow", Err: quorum.ErrNotAwaited}, {Master: "frozen", Err: context.DeadlineExceeded},
	}}})
	if got := a.reason(redlock.ErrExpired); !strings.Contains(got, "frozen away since ") || strings.Contains(got, "slow") {
		t.Errorf("reason = %q", got)
	}
}

// If redlock may not signal the command, it does not report that it killed the command.
func TestSignalNotPermitted(t *testing.T) {
	t.Parallel()
	c := &child{states: make(chan syscall.WaitStatus, 1)}
	asked := 0
	c.kill = func(int, syscall.Signal) error {
		if asked++; asked == 2 {
			c.states <- 0 // it ends by itself
		}
		return syscall.EPERM
	}
	if err := c.signal(syscall.SIGTERM); !errors.Is(err, syscall.EPERM) {
		t.Errorf("signal: %v", err)
	}
	if status, killed := c.endBy(func() bool { return true }); status != 0 || killed {
		t.Errorf("endBy = %d, %v", status, killed)
	}
	c.kill = func(int, syscall.Signal) error { return syscall.ESRCH }
	harness.Must(t, c.signal(syscall.SIGTERM))
}

// stubborn prints "term" at a SIGTERM and continues. It has a child in its group that would outlive it.
const stubborn = `trap 'echo term' TERM; sleep 1000 & echo ready $! ; while :; do sleep 0.02; done`

// A lost lease ends the command and its whole group before a rival acquires the lock.
func TestLostMajority(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	run := start(t, command(t, "run", mastersFlag(masters), "--name=job", "--ttl=2s", "--grace=4s", "--", "sh", "-c", stubborn))
	inGroup := number(t, run.line("ready"))
	freeze(t, masters[:2])
	frozen := time.Now()
	run.line("term")
	asked := time.Now()
	line := run.line("was lost while the command ran")
	ended := time.Now()
	if status := run.status(); status != exitLost {
		t.Errorf("status %d, want %d", status, exitLost)
	}
	for _, s := range masters[:2] { // the error names these masters, and since when they have been away
		requireText(t, "the loss", line, s.Addr()+" away since ")
	}
	if !regexp.MustCompile(`lease expired: .*; it was killed, its status was 137`).MatchString(line) || strings.Contains(line, masters[2].Addr()) {
		t.Errorf("it printed %q", line)
	}
	if took := asked.Sub(frozen); took > 4*time.Second {
		t.Errorf("SIGTERM came %v after the freeze, the lease is 2s", took)
	}
	// TestRivalAcquiresAfterCommandEnd checks that the end comes in time.
	if took := ended.Sub(frozen); took > 8*time.Second {
		t.Errorf("all ended %v after the freeze, the masters keep the lock for 6s", took)
	}
	if took := ended.Sub(asked); took < 2*time.Second {
		t.Errorf("SIGKILL came %v after SIGTERM, the grace is 4s", took)
	}
	if syscall.Kill(inGroup, 0) == nil {
		t.Errorf("process %d of the group is left", inGroup)
	}
}

// A rival acquires the lock of a cut-off redlock only after the command has ended.
func TestRivalAcquiresAfterCommandEnd(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	var proxies []*faultproxy.Proxy
	var through []string
	for _, s := range masters {
		p := proxyOf(t, s.Addr())
		proxies, through = append(proxies, p), append(through, p.URL())
	}
	beat := filepath.Join(t.TempDir(), "beat")
	script := `trap "" TERM; while :; do date +%s%N > "$0.new"; mv "$0.new" "$0"; echo ready; sleep 0.01; done`
	run := start(t, command(t, "run", "--masters", strings.Join(through, ","), "--name=job", "--ttl=1s", "--grace=5s", "--",
		"sh", "-c", script, beat))
	run.line("ready")
	for _, p := range proxies {
		p.Partition(true, true)
	}
	rivalLock(t, masters, "job")
	got := time.Now()
	text, err := os.ReadFile(beat)
	harness.Must(t, err)
	last := time.Unix(0, int64(number(t, strings.TrimSpace(string(text)))))
	if !last.Before(got) {
		t.Errorf("the command was alive at %v, the rival had the lock at %v", last, got)
	}
	if status := run.status(); status != exitLost {
		t.Errorf("status %d, want %d", status, exitLost)
	}
	text, err = os.ReadFile(beat)
	harness.Must(t, err)
	if after := time.Unix(0, int64(number(t, strings.TrimSpace(string(text))))); !after.Equal(last) {
		t.Errorf("the command wrote at %v, the rival had the lock at %v", after, got)
	}
}

func freeze(t *testing.T, servers []*redisproc.Server) {
	t.Helper()
	for _, s := range servers {
		harness.Must(t, s.Pause())
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	harness.Must(t, err)
	return n
}

// exited reports whether the process has ended, reaped or not.
func exited(pid int) bool {
	state := processState(pid)
	return state == "" || state == "Z"
}

// processState returns the letter that /proc has for the state of a process, or "" if there is no such process.
func processState(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return after[:1]
}

// childOf returns the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	harness.Must(t, err)
	var children []string
	for _, f := range tasks {
		text, err := os.ReadFile(f)
		harness.Must(t, err)
		children = append(children, strings.Fields(string(text))...)
	}
	if len(children) != 1 {
		t.Fatalf("children of %d: %q, want one", pid, children)
	}
	return number(t, children[0])
}
