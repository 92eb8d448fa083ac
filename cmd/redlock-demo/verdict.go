package main

import (
	"fmt"
	"io"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// verdict is the result of the demo, and the object that -json prints.
type verdict struct {
	OK          bool    `json:"ok"`
	Interrupted bool    `json:"interrupted"`
	Checks      []check `json:"checks"`

	TookMS          int64 `json:"took_ms"`
	IncrementsDone  int   `json:"increments_done"`
	IncrementsFound int   `json:"increments_found"`
	Tokens          int   `json:"tokens"`
	StaleRefused    int   `json:"stale_writes_refused"`
	UnfencedDone    int   `json:"unfenced_increments_done"`
	UnfencedFound   int   `json:"unfenced_increments_found"`
	MastersKilled   int   `json:"masters_killed"`
	MastersFrozen   int   `json:"masters_frozen"`
	HoldersPaused   int   `json:"holders_paused"`
}

// check is the result of one check. Detail has the numbers that decide it.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// judge returns the verdict. All actors must have ended.
func (s *stage) judge(interrupted bool) verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.verdict
	v.Interrupted, v.TookMS = interrupted, time.Since(s.began).Milliseconds()
	v.IncrementsFound, v.UnfencedFound, v.Tokens = s.fenced, s.bare, len(s.acquisitions)

	disorder := firstDisorder(s.acquisitions)
	stale := staleWrites(s.landed)
	failures := "none but the planned ones"
	if len(s.failures) > 0 {
		failures = fmt.Sprintf("%d, the first: %s", len(s.failures), s.failures[0])
	}
	if disorder == "" {
		disorder = fmt.Sprintf("%d, strictly growing", v.Tokens)
	}
	v.Checks = []check{
		{"increments", v.IncrementsDone > 0 && v.IncrementsDone == v.IncrementsFound, fmt.Sprintf("%d done, %d found", v.IncrementsDone, v.IncrementsFound)},
		{"tokens", v.Tokens > 0 && firstDisorder(s.acquisitions) == "", disorder},
		{"stale writes", v.StaleRefused > 0 && stale == 0, fmt.Sprintf("%d refused, %d landed", v.StaleRefused, stale)},
		{"failures", len(s.failures) == 0, failures},
	}
	v.OK = !interrupted
	for _, c := range v.Checks {
		v.OK = v.OK && c.OK
	}
	return v
}

// firstDisorder returns a text on two acquisitions whose tokens are wrong, or "". Two tokens are wrong if they are
// equal. They are also wrong if one acquisition began after the other was complete, and the later one has the smaller
// token.
func firstDisorder(all []acquisition) string {
	for i, a := range all {
		for _, b := range all[:i] {
			if a.token == b.token || a.completed < b.begun && a.token > b.token || b.completed < a.begun && b.token > a.token {
				return fmt.Sprintf("%v (%v to %v) and %v (%v to %v)", a.token, a.begun, a.completed, b.token, b.begun, b.completed)
			}
		}
	}
	return ""
}

// staleWrites returns the number of writes that came after a write with a larger token.
func staleWrites(landed []fence.Token) (stale int) {
	highest := fence.Token(0)
	for _, t := range landed {
		if t < highest {
			stale++
		}
		highest = max(highest, t)
	}
	return stale
}

// print prints the verdict as text.
func (v verdict) print(w io.Writer) error {
	outcome := "PASSED"
	switch {
	case v.Interrupted:
		outcome = "INTERRUPTED"
	case !v.OK:
		outcome = "FAILED"
	}
	text := fmt.Sprintf("\nverdict       %s after %.1f s\n", outcome, float64(v.TookMS)/1000)
	for _, c := range v.Checks {
		text += fmt.Sprintf("%-14s%-7s%s\n", c.Name, map[bool]string{true: "ok", false: "failed"}[c.OK], c.Detail)
	}
	text += fmt.Sprintf("without fence        %d done, %d found: %d lost\n", v.UnfencedDone, v.UnfencedFound, v.UnfencedDone-v.UnfencedFound)
	text += fmt.Sprintf("faults               masters killed %d, frozen %d; holders paused %d\n", v.MastersKilled, v.MastersFrozen, v.HoldersPaused)
	_, err := io.WriteString(w, text)
	return err
}
