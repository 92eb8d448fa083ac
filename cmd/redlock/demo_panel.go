package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// panelRows and panelColumns are what the panel needs; a smaller terminal gets
	// lines.
	panelRows    = 20
	panelColumns = 60

	barWidth = 24
)

// panelView redraws a panel in place.
type panelView struct {
	out      *os.File
	color    bool
	headline string
	whole    time.Duration

	drawn int // lines on the screen
	last  scene
}

func (p *panelView) draw(now scene) {
	p.last = now
	_, rows := p.size()
	lines := p.panel(now)
	lines = append(lines, p.story(now, rows-len(lines)-1)...)
	p.print(hideCursor, lines, "")
}

// conclude replaces the panel by the end of the story and the verdict.
func (p *panelView) conclude(v verdict) {
	_, rows := p.size()
	verdict := verdictLines(v)
	lines := append([][]span{{{strong, "redlock demo  "}, {plain, p.headline}}, {}}, p.story(p.last, rows-len(verdict)-3)...)
	p.print("", append(lines, verdict...), showCursor)
}

// print replaces what was printed before. It is one write, so that no terminal
// shows half of it.
func (p *panelView) print(before string, lines [][]span, after string) {
	columns, _ := p.size()
	var b bytes.Buffer
	b.WriteString(before + strings.Repeat(upLine, p.drawn) + "\r")
	for _, line := range lines {
		b.WriteString(render(line, columns, p.color) + clearRight + "\n")
	}
	b.WriteString(clearBelow + after)
	_, _ = p.out.Write(b.Bytes()) // to a closed terminal: nobody is looking
	p.drawn = len(lines)
}

// size is asked each time: windows are resized.
func (p *panelView) size() (columns, rows int) {
	columns, rows, ok := terminalSize(p.out)
	if !ok {
		return panelColumns, panelRows // it has gone; what is written goes nowhere
	}
	return columns, rows
}

// panel is all but the story.
func (p *panelView) panel(now scene) [][]span {
	lines := [][]span{
		{{strong, "redlock demo  "}, {plain, p.headline}},
		{{faint, fmt.Sprintf("%-14s%.1f s of %.0f s", "", now.at.Seconds(), p.whole.Seconds())}},
		{},
		mastersLine(now),
		{},
	}
	lines = append(lines, holderLines(now)...)
	lines = append(lines, nil)
	for i, w := range now.workers {
		lines = append(lines, workerLine(i, w, now.at))
	}
	r := now.record
	return append(lines, nil,
		[]span{{strong, "ledger        "}, {plain, fmt.Sprintf("increments done %3d, value %3d: ", r.done, r.found)}, {good, fmt.Sprintf("%d lost", r.done-r.found)},
			{plain, fmt.Sprintf(", stale writes refused %d", r.refused)}},
		[]span{{strong, "without fence "}, {plain, fmt.Sprintf("increments done %3d, value %3d: ", r.bareDone, r.bareFound)}, {bad, fmt.Sprintf("%d lost", r.bareDone-r.bareFound)}},
		nil)
}

func mastersLine(now scene) []span {
	line := []span{{strong, "masters       "}}
	for i, state := range now.masters {
		look := span{good, "up"}
		switch state {
		case masterKilled:
			look = span{bad, "KILLED"}
		case masterFrozen:
			look = span{warn, "FROZEN"}
		}
		look.text = fmt.Sprintf("%-8s", look.text)
		line = append(line, span{plain, fmt.Sprintf("%d ", i+1)}, look)
	}
	return append(line, span{faint, fmt.Sprintf("quorum %d", len(now.masters)/2+1)})
}

// holderLines show the lock as the masters see it.
func holderLines(now scene) [][]span {
	if now.holder == nobody {
		return [][]span{{{strong, "lock          "}, {faint, "free"}}, nil}
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
	return [][]span{
		{{strong, "lock          "}, {good, fmt.Sprintf("worker %d", now.holder+1)}, {plain, fmt.Sprintf("  token %v  granted by masters %s", w.token, strings.Join(by, " "))}},
		{{plain, "              "}, {look, strings.Repeat("#", full)}, {faint, strings.Repeat(".", barWidth-full)}, {plain, words}},
	}
}

func workerLine(i int, w workerScene, at time.Duration) []span {
	what := span{faint, "between two increments"}
	switch w.doing {
	case waiting:
		what = span{plain, fmt.Sprintf("waits  %.1f s", (at - w.since).Seconds())}
	case holding:
		what = span{good, fmt.Sprintf("holds  token %v", w.token)}
	case paused:
		what = span{warn, fmt.Sprintf("PAUSED with token %v", w.token)}
	}
	what.text = fmt.Sprintf("%-33s", what.text)
	line := []span{{strong, fmt.Sprintf("worker %d      ", i+1)}, what, {plain, fmt.Sprintf("increments %4d", w.increments)}}
	if w.refused > 0 {
		line = append(line, span{good, fmt.Sprintf("  refused %d", w.refused)})
	}
	return line
}

// story is the last events that matter, at most rows of them.
func (p *panelView) story(now scene, rows int) [][]span {
	var lines [][]span
	for _, e := range now.events {
		if !e.minor {
			lines = append(lines, []span{{faint, fmt.Sprintf("%6.2fs  ", e.at.Seconds())}, {strong, fmt.Sprintf("%-8s  ", e.who)}, {e.tone, e.what}})
		}
	}
	return lines[len(lines)-max(0, min(rows, len(lines))):]
}
