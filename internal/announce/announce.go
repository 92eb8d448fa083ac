package announce

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/master"
)

const (
	// The masters are told who a client is again and again: at first after minAnnounce, then after
	// twice as long each time, up to maxAnnounce. Each word lasts for announceLife times as long as
	// it takes to the next. So a client that lived for a moment is forgotten within minutes, and
	// one that lives on costs nothing.
	minAnnounce  = time.Minute
	maxAnnounce  = time.Hour
	announceLife = 4
)

// Config is what is told, and to whom.
type Config struct {
	Masters []*master.Master
	Key     string          // that has it on each master
	Who     string          // as identity.Of has it, at first
	Timeout time.Duration   // of one request
	Closed  context.Context // ends when the client begins to close
}

// Announcer tells the masters who its client is, whenever one comes up and seldom after that. It
// does so beside the queue of requests, so that no operation waits for it, and whether a master
// takes it matters to nobody but admin.Inspect.
type Announcer struct {
	Config

	mu    sync.Mutex    // guards Who as well
	pause time.Duration // until the next time
	timer *time.Timer   // nil before a master was up
	ended bool
	under sync.WaitGroup

	// By master: it is being told, and there is more to tell it then. An older word must not
	// overtake a newer one.
	telling, stale []bool

	// By master: the timer for one that refused to be told, as it refuses all that writes. When it
	// takes the word, the refusal is over.
	retries []*time.Timer
}

// New returns an Announcer that has told nobody yet.
func New(c Config) *Announcer {
	n := len(c.Masters)
	return &Announcer{Config: c, pause: minAnnounce, telling: make([]bool, n), stale: make([]bool, n), retries: make([]*time.Timer, n)}
}

// Rename changes what the masters are told. It returns ErrClosed after Stop.
func (a *Announcer) Rename(who string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return master.ErrClosed
	}
	a.Who = who
	if a.timer != nil { // else no master has been told
		a.tellAll()
	}
	return nil
}

// Tell tells one master.
func (a *Announcer) Tell(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	if a.timer == nil {
		a.timer = time.AfterFunc(a.pause, a.again)
	}
	a.tell(index)
}

// again tells all masters, and sets the timer for the next time.
func (a *Announcer) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	a.pause = min(2*a.pause, maxAnnounce)
	a.timer.Reset(a.pause)
	a.tellAll()
}

// tellAll tells all masters. The caller holds mu.
func (a *Announcer) tellAll() {
	for i := range a.Masters {
		a.tell(i)
	}
}

// tell starts telling a master who the client is, or has it told once more if that is under way.
// The caller holds mu.
func (a *Announcer) tell(index int) {
	if a.telling[index] {
		a.stale[index] = true
		return
	}
	a.telling[index] = true
	who, life := a.Who, announceLife*a.pause
	a.under.Go(func() {
		ctx, cancel := context.WithTimeout(a.Closed, a.Timeout)
		defer cancel()
		m := a.Masters[index]
		if replies, err := m.Do(ctx, master.Text("set", a.Key, who, "px", life.Milliseconds())); err == nil {
			m.Wrote(replies[0].Err())
		}
		if m.Refusal() != nil {
			a.TellSoon(index)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		again := a.stale[index] && !a.ended
		if a.telling[index], a.stale[index] = false, false; again {
			a.tell(index)
		}
	})
}

// refusedPause is how long a master that refuses what writes is left alone before it is told again.
const refusedPause = time.Second

// TellSoon tells a master after a pause.
func (a *Announcer) TellSoon(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch timer := a.retries[index]; {
	case a.ended:
	case timer == nil:
		a.retries[index] = time.AfterFunc(refusedPause, func() { a.Tell(index) })
	default:
		timer.Reset(refusedPause)
	}
}

// Stop ends it, and waits for what is under way.
func (a *Announcer) Stop() {
	a.mu.Lock()
	a.ended = true
	for _, timer := range a.retries {
		if timer != nil {
			timer.Stop()
		}
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	a.under.Wait()
}
