package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/printable"
)

// stage is the store that the workers share, and records what all actors do. It prints each line at once, and
// computes the verdict from its counts.
//
// The store has two numbers: one behind a fence, and for comparison one without a fence. A worker reads and writes in
// two steps, as with any store on a network.
type stage struct {
	story       io.Writer
	began       time.Time
	guard       fence.Memory
	pauseWanted atomic.Bool

	mu           sync.Mutex
	fenced, bare int
	highest      fence.Token   // the highest token that was claimed
	landed       []fence.Token // the tokens of the fenced writes, in the order of the writes
	acquisitions []acquisition
	failures     []string // unexpected errors
	verdict      verdict
}

// acquisition is a completed acquisition. begun and completed count from the start of the demo. begun is when the
// successful attempt began, and not when the caller began to wait: the order of tokens is promised for attempts.
type acquisition struct {
	begun, completed time.Duration
	token            fence.Token
}

func (s *stage) report(actor, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(actor, what)
}

// print prints a line, for a caller that holds mu.
func (s *stage) print(actor, what string) {
	fmt.Fprintf(s.story, "%8.3fs  %-8s  %s\n", time.Since(s.began).Seconds(), actor, printable.Text(what))
}

// count adds one to n, a field of the verdict, and prints the reason.
func (s *stage) count(n *int, actor, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	s.print(actor, what)
}

// fail records an unexpected error.
func (s *stage) fail(actor string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, printable.Text(actor+": "+err.Error()))
	s.print(actor, "FAILED: "+err.Error())
}

// acquired is called by the library as soon as an acquisition is complete. took is the duration of the
// successful attempt.
func (s *stage) acquired(actor string, token fence.Token, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.began)
	s.acquisitions = append(s.acquisitions, acquisition{now - took, now, token})
	s.print(actor, fmt.Sprintf("has the lock, with token %v", token))
}

// read raises the fence to token, and returns both numbers. After that, only this holder or a newer one can
// set the fenced number.
func (s *stage) read(token fence.Token) (fenced, bare int, err error) {
	if err := s.guard.Claim(context.Background(), lockName, token); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest = max(s.highest, token)
	return s.fenced, s.bare, nil
}

// overtaken reports whether a newer holder has raised the fence above token.
func (s *stage) overtaken(token fence.Token) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest > token
}

// write sets the number without a fence. It also sets the fenced number, unless the fence is above token.
func (s *stage) write(actor string, token fence.Token, fenced, bare int) {
	s.mu.Lock()
	if bare <= s.bare {
		s.print(actor, fmt.Sprintf("writes where there is no fence: %d becomes %d", s.bare, bare))
	}
	s.bare = bare
	s.verdict.UnfencedDone++
	s.mu.Unlock()

	err := s.guard.Do(context.Background(), lockName, token, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fenced = fenced
		s.landed = append(s.landed, token)
		return nil
	})
	switch stale, isStale := errors.AsType[*fence.StaleError](err); {
	case err == nil:
		s.count(&s.verdict.IncrementsDone, actor, fmt.Sprintf("increments to %d with token %v", fenced, token))
	case isStale:
		s.count(&s.verdict.StaleRefused, actor, fmt.Sprintf("is REFUSED: token %v is older than %v", token, stale.Highest))
	default:
		s.fail(actor, err)
	}
}
