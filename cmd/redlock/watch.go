package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// watcher shows what redlock status --watch finds.
type watcher struct {
	json   bool
	out    io.Writer
	screen *screen // nil: there is a block at each change
	last   string  // what was found, but for times
}

func newWatcher(asJSON bool) *watcher {
	w := &watcher{json: asJSON, out: stdout}
	if !asJSON {
		w.screen = newScreen(panelColumns, 1)
	}
	return w
}

func (w *watcher) show(s status) {
	if w.screen != nil {
		w.redraw(s)
		return
	}
	found, _ := json.Marshal(jsonOfStatus(s).withoutTimes()) // of texts and numbers: it does not fail
	if string(found) == w.last {
		return
	}
	first := w.last == ""
	w.last = string(found)
	if w.json {
		_ = json.NewEncoder(w.out).Encode(jsonOfStatus(s)) // stdout remembers what went wrong
		return
	}
	if !first {
		fmt.Fprintln(w.out)
	}
	fmt.Fprintln(w.out, "at "+s.at.Format(time.DateTime))
	printStatus(w.out, s)
}

// redraw shows as much as the terminal has room for.
func (w *watcher) redraw(s status) {
	var b bytes.Buffer
	printStatus(&b, s)
	lines := append([]string{strong.of("redlock status  ") + s.at.Format(time.DateTime), ""}, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")...)
	_, rows := w.screen.size()
	if most := max(1, rows-1); len(lines) > most {
		lines = append(lines[:most-1], faint.of(fmt.Sprintf("… %s more", counted(len(lines)-most+1, "line"))))
	}
	w.screen.print(ansi.HideCursor, lines, "")
}

// end leaves the terminal as it was.
func (w *watcher) end() {
	if w.screen != nil {
		fmt.Fprint(stdout, ansi.ShowCursor)
	}
}
