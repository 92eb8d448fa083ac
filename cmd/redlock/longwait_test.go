//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSilence(t *testing.T) {
	t.Parallel()
	for words, want := range []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second, 24 * time.Second} {
		if got := silence(words); got != want {
			t.Errorf("after %d words: %v, want %v", words, got, want)
		}
	}
	for _, words := range []int{8, 16, 1 << 20} {
		if got := silence(words); got != longestSilence {
			t.Errorf("after %d words: %v, want %v", words, got, longestSilence)
		}
	}
}

// A wait says what it is for, and why it lasts.
func TestALongWaitIsTold(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	rivalLock(t, masters, "held")
	for _, s := range masters[2:] {
		s.Kill()
	}
	const down = "--masters=redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	for _, c := range []struct {
		what, masters, says string
	}{
		{"all masters are down", down, "no quorum of masters (acquire \"held\", need 2 of 3: 127.0.0.1:1 unknown: dial tcp"},
		{"another holds the lock", mastersFlag(masters), "held by another"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			waiting := start(t, command(t, "run", c.masters, "--name=held", "--", "echo", "ran"))
			for range 2 {
				if line := waiting.line(`redlock: waiting for "held" for `); !strings.Contains(line, "s: "+c.says) {
					t.Errorf("it says %q, want %q", line, c.says)
				}
			}
			waiting.signal(syscall.SIGTERM)
			if status := waiting.status(); status != 128+int(syscall.SIGTERM) {
				t.Errorf("status %d", status)
			}
		})
	}
}
