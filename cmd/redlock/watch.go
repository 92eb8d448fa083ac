package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"
)

// watcher prints what redlock status --watch finds, at each change.
type watcher struct {
	json bool
	out  io.Writer
	last string // what was found, but for times
}

// times are what changes though nothing happens.
var times = regexp.MustCompile(`"(time":"[^"]*"|leftMillis":\d+|remainingMillis":\d+)`)

func (w *watcher) show(s status) {
	text, _ := json.Marshal(jsonOfStatus(s)) // of texts and numbers: it does not fail
	found := times.ReplaceAllString(string(text), "")
	if found == w.last {
		return
	}
	first := w.last == ""
	w.last = found
	if w.json {
		fmt.Fprintf(w.out, "%s\n", text)
		return
	}
	if !first {
		fmt.Fprintln(w.out)
	}
	fmt.Fprintln(w.out, "at "+s.at.Format(time.DateTime))
	printStatus(w.out, s, true)
}
