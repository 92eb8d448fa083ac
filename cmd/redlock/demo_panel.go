package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

const (
	// panelRows and panelColumns are what the panel needs; a smaller terminal gets lines.
	panelRows    = 20
	panelColumns = 60

	barWidth = 24
)

// panelView redraws a panel in place.
type panelView struct {
	*screen
	headline string
	whole    time.Duration
	last     scene
}

func (p *panelView) draw(now scene) {
	p.last = now
	_, rows := p.size()
	lines := p.panel(now)
	lines = append(lines, p.story(now, rows-len(lines)-1)...)
	p.print(ansi.HideCursor, lines, "")
}

// conclude replaces the panel by the end of the story and the verdict.
func (p *panelView) conclude(v verdict) {
	_, rows := p.size()
	verdict := verdictLines(v)
	lines := append([]string{strong.of("redlock demo  ") + p.headline, ""}, p.story(p.last, rows-len(verdict)-3)...)
	p.print("", append(lines, verdict...), ansi.ShowCursor)
}

// panel is all but the story.
func (p *panelView) panel(now scene) []string {
	lines := []string{
		strong.of("redlock demo  ") + p.headline,
		faint.of(fmt.Sprintf("%-14s%.1f s of %.0f s", "", now.at.Seconds(), p.whole.Seconds())),
		"",
		mastersLine(now),
		"",
	}
	lines = append(lines, holderLines(now)...)
	lines = append(lines, "")
	for i, w := range now.workers {
		lines = append(lines, workerLine(i, w, now.at))
	}
	r := now.record
	return append(lines, "",
		strong.of("ledger        ")+fmt.Sprintf("increments done %3d, value %3d: ", r.done, r.found)+good.of(fmt.Sprintf("%d lost", r.done-r.found))+
			fmt.Sprintf(", stale writes refused %d", r.refused),
		strong.of("without fence ")+fmt.Sprintf("increments done %3d, value %3d: ", r.bareDone, r.bareFound)+bad.of(fmt.Sprintf("%d lost", r.bareDone-r.bareFound)),
		"")
}

func mastersLine(now scene) string {
	line := strong.of("masters       ")
	for i, state := range now.masters {
		look, word := good, "up"
		switch state {
		case masterKilled:
			look, word = bad, "KILLED"
		case masterFrozen:
			look, word = warn, "FROZEN"
		}
		line += fmt.Sprintf("%d ", i+1) + look.of(fmt.Sprintf("%-8s", word))
	}
	return line + faint.of(fmt.Sprintf("quorum %d", len(now.masters)/2+1))
}

// holderLines show the lock as the masters see it.
func holderLines(now scene) []string {
	if now.holder == nobody {
		return []string{strong.of("lock          ") + faint.of("free"), ""}
	}
	var by []string
	for i, granted := range now.granted {
		if granted {
			by = append(by, fmt.Sprint(i+1))
		}
	}
	w := now.workers[now.holder]
	left := max(0, time.Until(now.until))
	full := min(barWidth, int(left*barWidth/demoTTL))
	look, words := good, fmt.Sprintf("  %.1f s of lease left", left.Seconds())
	if left == 0 {
		look, words = bad, "  the lease is over"
	}
	return []string{
		strong.of("lock          ") + good.of(fmt.Sprintf("worker %d", now.holder+1)) + fmt.Sprintf("  token %v  granted by masters %s", w.token, strings.Join(by, " ")),
		"              " + look.of(strings.Repeat("#", full)) + faint.of(strings.Repeat(".", barWidth-full)) + words,
	}
}

func workerLine(i int, w workerScene, at time.Duration) string {
	look, what := faint, "between two increments"
	switch w.doing {
	case waiting:
		look, what = plain, fmt.Sprintf("waits  %.1f s", (at-w.since).Seconds())
	case holding:
		look, what = good, fmt.Sprintf("holds  token %v", w.token)
	case paused:
		look, what = warn, fmt.Sprintf("PAUSED with token %v", w.token)
	}
	line := strong.of(fmt.Sprintf("worker %d      ", i+1)) + look.of(fmt.Sprintf("%-33s", what)) + fmt.Sprintf("increments %4d", w.increments)
	if w.refused > 0 {
		line += good.of(fmt.Sprintf("  refused %d", w.refused))
	}
	return line
}

// story is the last events that matter, at most rows of them.
func (p *panelView) story(now scene, rows int) []string {
	var lines []string
	for _, e := range now.events {
		if !e.minor {
			lines = append(lines, faint.of(fmt.Sprintf("%6.2fs  ", e.at.Seconds()))+strong.of(fmt.Sprintf("%-8s  ", e.who))+e.tone.of(e.what))
		}
	}
	return lines[len(lines)-max(0, min(rows, len(lines))):]
}
