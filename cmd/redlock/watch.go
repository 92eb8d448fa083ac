package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"
)

// watcher prints the status for redlock status --watch at each change.
type watcher struct {
	json bool
	out  io.Writer
	last string // the last status, without times
}

// times matches the fields that change although nothing happens.
var times = regexp.MustCompile(`"(time":"[^"]*"|leftMillis":\d+|remainingMillis":\d+)`)

func (w *watcher) show(s status) {
	text, _ := json.Marshal(jsonOfStatus(s)) // never fails: only strings and numbers
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
