package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// watcher prints what redlock status --watch finds, at each change.
type watcher struct {
	json bool
	out  io.Writer
	last string // what was found, but for times
}

func (w *watcher) show(s status) {
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
