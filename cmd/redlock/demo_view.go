package main

import (
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// frame is how often a view is brought up to date.
const frame = 100 * time.Millisecond

// view shows the performance. draw is called once for each frame, and a last time when all actors
// have left.
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
	if s := newScreen(panelColumns, panelRows); s != nil {
		return &panelView{screen: s, headline: headline, whole: cfg.Duration}
	}
	fmt.Fprintln(stdout, "redlock demo: "+headline)
	return &lineView{out: stdout}
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
		fmt.Fprintln(l.out, ansi.Strip(line))
	}
}

// verdictLines is the verdict for people.
func verdictLines(v verdict) []string {
	outcome := good.of("PASSED")
	switch {
	case v.Interrupted:
		outcome = bad.of("INTERRUPTED")
	case !v.OK:
		outcome = bad.of("FAILED")
	}
	lines := []string{"", strong.of("verdict       ") + outcome + fmt.Sprintf(" after %.1f s", float64(v.TookMS)/1000)}
	for _, c := range v.Checks {
		mark := good.of("ok     ")
		if !c.OK {
			mark = bad.of("failed ")
		}
		lines = append(lines, fmt.Sprintf("%-14s", c.Name)+mark+c.Detail)
	}
	return append(lines,
		faint.of(fmt.Sprintf("without fence        %d done, %d found: %d lost", v.UnfencedDone, v.UnfencedFound, v.UnfencedLost)),
		faint.of(fmt.Sprintf("faults               of masters %s and %s, of holders %s",
			counted(v.MastersKilled, "kill"), counted(v.MastersFrozen, "freeze"), counted(v.HoldersPaused, "pause"))),
		faint.of(fmt.Sprintf("longest wait         %.2f s", float64(v.LongestWaitMS)/1000)))
}
