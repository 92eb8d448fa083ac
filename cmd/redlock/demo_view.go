package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// frame is how often a view is brought up to date.
const frame = 100 * time.Millisecond

// view shows the performance. draw is called once for each frame, and a last time
// when all actors have left.
type view interface {
	draw(scene)
	conclude(verdict)
}

// newView chooses what fits stdout.
func newView(cfg *demoConfig, kind string) view {
	headline := fmt.Sprintf("%d %s masters, %d workers, one lock, seed %d", demoMasters, kind, demoWorkers, *cfg.Seed)
	if cfg.JSON {
		return noView{}
	}
	if columns, rows, ok := terminalSize(os.Stdout); ok && columns >= panelColumns && rows >= panelRows && os.Getenv("TERM") != "dumb" {
		return &panelView{out: os.Stdout, color: os.Getenv("NO_COLOR") == "", headline: headline, whole: cfg.Duration}
	}
	fmt.Println("redlock demo: " + headline)
	return &lineView{out: os.Stdout}
}

// show draws until the performance is over.
func show(v view, s *stage, over <-chan struct{}) {
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for {
		v.draw(s.look())
		select {
		case <-tick.C:
		case <-over:
			v.draw(s.look())
			return
		}
	}
}

// noView is for --json.
type noView struct{}

func (noView) draw(scene)       {}
func (noView) conclude(verdict) {}

// lineView prints each event as a line, for logs and pipes.
type lineView struct {
	out   io.Writer
	shown int
}

func (l *lineView) draw(now scene) {
	for _, e := range now.events[l.shown:] {
		fmt.Fprintf(l.out, "%8.3fs  %-8s  %s\n", e.at.Seconds(), e.who, e.what)
	}
	l.shown = len(now.events)
}

func (l *lineView) conclude(v verdict) {
	for _, line := range verdictLines(v) {
		fmt.Fprintln(l.out, render(line, 1<<20, false))
	}
}

// verdictLines is the verdict for people.
func verdictLines(v verdict) [][]span {
	outcome := span{good, "PASSED"}
	switch {
	case v.Interrupted:
		outcome = span{bad, "INTERRUPTED"}
	case !v.OK:
		outcome = span{bad, "FAILED"}
	}
	lines := [][]span{{}, {{strong, "verdict       "}, outcome, {plain, fmt.Sprintf(" after %.1f s", float64(v.TookMS)/1000)}}}
	for _, c := range v.Checks {
		mark := span{good, "ok     "}
		if !c.OK {
			mark = span{bad, "failed "}
		}
		lines = append(lines, []span{{plain, fmt.Sprintf("%-14s", c.Name)}, mark, {plain, c.Detail}})
	}
	return append(lines,
		[]span{{faint, fmt.Sprintf("without fence        %d done, %d found: %d lost", v.UnfencedDone, v.UnfencedFound, v.UnfencedLost)}},
		[]span{{faint, fmt.Sprintf("faults               of masters %s and %s, of holders %s",
			counted(v.MastersKilled, "kill"), counted(v.MastersFrozen, "freeze"), counted(v.HoldersPaused, "pause"))}},
		[]span{{faint, fmt.Sprintf("longest wait         %.2f s", float64(v.LongestWaitMS)/1000)}})
}
