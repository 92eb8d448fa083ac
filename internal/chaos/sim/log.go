package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// log keeps the history in memory. Events with the same time are in the order in which they were written.
type log struct {
	start time.Time

	mu     sync.Mutex
	events []history.Event
}

func (l *log) Now() time.Duration { return time.Since(l.start) }

func (l *log) Write(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.At == 0 {
		e.At = l.Now()
	}
	l.events = append(l.events, e)
}

// all returns the events so far.
func (l *log) all() ([]history.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events), nil
}
