package embedded

import (
	"sync"
	"time"
)

// busyAfter is how long a script runs before other clients get BUSY.
const busyAfter = 50 * time.Millisecond

// gate holds the commands of clients back while the master is paused, and for up to busyAfter while the master is
// busy. A command that has passed the gate runs to its end.
type gate struct {
	mu      sync.Mutex
	shut    chan struct{} // closed for good by a kill
	resumed chan struct{} // nil, or closed at the end of a pause
	idle    chan struct{} // nil, or closed at the end of a busy script
	since   time.Time     // when the busy script began
}

func newGate() *gate { return &gate{shut: make(chan struct{})} }

func (g *gate) close() { close(g.shut) }

func (g *gate) isShut() bool {
	select {
	case <-g.shut:
		return true
	default:
		return false
	}
}

func (g *gate) setPaused(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.resumed, on)
}

// setBusy begins or ends a busy script, and reports whether that is a change.
func (g *gate) setBusy(on bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !change(&g.idle, on) {
		return false
	}
	g.since = time.Now()
	return true
}

// change makes the channel *end if on is true, and otherwise closes and removes it. It reports whether there was a
// change.
func change(end *chan struct{}, on bool) bool {
	switch {
	case on == (*end != nil):
		return false
	case on:
		*end = make(chan struct{})
	default:
		close(*end)
		*end = nil
	}
	return true
}

// pass waits until a command may run, and reports whether the master is alive. If it is dead, no command may run, not
// even one that was read before the kill. If minds is true, pass also reports whether the master is still busy after
// busyAfter.
func (g *gate) pass(minds bool) (busy, alive bool) {
	for {
		g.mu.Lock()
		resumed, idle, busyAt := g.resumed, g.idle, g.since.Add(busyAfter)
		g.mu.Unlock()
		switch {
		case g.isShut():
			return false, false
		case resumed != nil:
			g.wait(resumed, nil)
		case idle == nil || !minds:
			return false, true
		case !time.Now().Before(busyAt):
			return true, true
		default:
			timer := time.NewTimer(time.Until(busyAt))
			g.wait(idle, timer.C)
			timer.Stop()
		}
	}
}

// wait returns when the channel is closed, the timer has fired or the master is dead.
func (g *gate) wait(end <-chan struct{}, timer <-chan time.Time) {
	select {
	case <-end:
	case <-timer:
	case <-g.shut:
	}
}
