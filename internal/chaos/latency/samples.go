package latency

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// probes sees the locks that nobody else wants. Each client asks for one at a time.
type probes struct {
	isProbe func(name string) bool
	began   map[string]time.Duration // by client: its first try since it had the lock
}

// take returns when the hold began to be asked for, if e is one.
func (p probes) take(e history.Event) (from time.Duration, ok bool) {
	switch {
	case e.Kind == history.ClientKilled:
		delete(p.began, e.Client)
	case !p.isProbe(e.Name):
	case e.Kind == history.LockBegins:
		if _, again := p.began[e.Client]; !again {
			p.began[e.Client] = e.At
		}
	case e.Kind == history.LockHeld:
		from, ok = p.began[e.Client]
		delete(p.began, e.Client)
	}
	return from, ok
}

// handOvers sees the locks that somebody waits for. What readers leave is no hand-over: others may
// read on.
type handOvers struct {
	asked map[call]time.Duration // by those that wait
	held  map[string]*hold       // by name, the last one
}

type call struct {
	client string
	number int64
}

type hold struct {
	token uint64
	until time.Duration
	left  time.Duration // 0: not yet, or too late
}

// take returns when the last holder began to unlock, if e is the hold of one that waited then.
func (h handOvers) take(e history.Event) (from time.Duration, ok bool) {
	key := call{e.Client, e.Call}
	last := h.held[e.Name]
	switch e.Kind {
	case history.LockBegins:
		if e.Waits && e.Depth == 1 && e.Set == 0 { // who wants several names may wait for another one
			h.asked[key] = e.At
		}
	case history.LockFailed:
		delete(h.asked, key)
	case history.Renewed:
		if last != nil && last.token == e.Token {
			last.until = max(last.until, e.Until)
		}
	case history.DowngradeBegins:
		if last != nil && last.token == e.Token {
			delete(h.held, e.Name)
		}
	case history.UnlockBegins:
		if last != nil && last.token == e.Token && e.Depth == 0 && e.At <= last.until {
			last.left = e.At
		}
	case history.LockHeld:
		if e.Depth > 1 {
			if last != nil && last.token == e.Token {
				last.until = max(last.until, e.Until)
			}
			return 0, false
		}
		asked, waited := h.asked[key]
		delete(h.asked, key)
		h.held[e.Name] = &hold{token: e.Token, until: e.Until}
		if e.Token == 0 { // it reads
			delete(h.held, e.Name)
		}
		if last != nil && last.left > 0 && waited && asked < last.left {
			return last.left, true
		}
	}
	return 0, false
}
