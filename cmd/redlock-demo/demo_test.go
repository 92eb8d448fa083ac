package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

// Each check of the verdict can fail, and then the verdict is not OK.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		spoil func(*stage)
		fails string // the one check that fails
	}{
		{"nothing wrong", func(*stage) {}, ""},
		{"lost increment", func(s *stage) { s.fenced-- }, "increments"},
		{"increment from nowhere", func(s *stage) { s.fenced++ }, "increments"},
		{"nothing done", func(s *stage) { s.fenced, s.verdict.IncrementsDone = 0, 0 }, "increments"},
		{"token goes back", func(s *stage) { s.acquisitions[3].token = 102 }, "tokens"},
		{"token repeats in an overlap", func(s *stage) { s.acquisitions[1].token = 101 }, "tokens"},
		{"no token", func(s *stage) { s.acquisitions = nil }, "tokens"},
		{"nothing refused", func(s *stage) { s.verdict.StaleRefused = 0 }, "stale writes"},
		{"stale write landed", func(s *stage) { s.landed[3] = 101 }, "stale writes"},
		{"something broke", func(s *stage) { s.fail("worker 1", errors.New("client closed")) }, "failures"},
	} {
		s := &stage{
			story: io.Discard,
			// The second overlaps with the first and with the third.
			acquisitions: []acquisition{{10, 20, 100}, {15, 40, 103}, {30, 35, 101}, {50, 60, 104}},
			fenced:       3, landed: []fence.Token{100, 103, 103, 104},
			verdict: verdict{IncrementsDone: 3, StaleRefused: 1},
		}
		c.spoil(s)
		v := s.judge(false)
		if v.OK != (c.fails == "") {
			t.Errorf("%s: ok is %v", c.what, v.OK)
		}
		for _, got := range v.Checks {
			if got.OK != (got.Name != c.fails) {
				t.Errorf("%s: check %q ok %v: %s", c.what, got.Name, got.OK, got.Detail)
			}
		}
		if s.judge(true).OK {
			t.Errorf("%s: an interrupted demo passed", c.what)
		}
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"-duration=4s", "-json"}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d: %s%s", status, &stdout, &stderr)
	}
	var v verdict
	harness.Must(t, json.Unmarshal(stdout.Bytes(), &v))
	if !v.OK || v.MastersKilled == 0 || v.MastersFrozen == 0 || v.HoldersPaused == 0 || v.StaleRefused == 0 || v.UnfencedDone == v.UnfencedFound {
		t.Errorf("%+v", v)
	}
}

// The story has a line for each event. An interrupted demo ends at once, and does not pass.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"-duration=1h"}, w, io.Discard)
		w.Close()
	}()
	var story strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		story.Write(buffer[:n])
		if strings.Contains(story.String(), "increments to 1 with token") {
			interrupt()
		}
		if err != nil {
			break
		}
	}
	if got := <-status; got != exitInterrupted || !strings.Contains(story.String(), "INTERRUPTED") {
		t.Errorf("status %d: %s", got, &story)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-duration=2s"}, {"fast"}, {"masters", "5"}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != exitUsage || stdout.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, &stdout, &stderr)
		}
	}
}
