package announce

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/master"
)

const (
	// The client announces itself again and again: at first after minAnnounce, then after twice as
	// long each time, up to maxAnnounce. Each announcement lasts for announceLife times the pause
	// before the next announcement. So a client that lived for a moment is forgotten within
	// minutes, and a client that lives on costs almost nothing.
	minAnnounce  = time.Minute
	maxAnnounce  = time.Hour
	announceLife = 4
)

// Config has the data to announce, and the masters.
type Config struct {
	Masters []*master.Master
	Key     string          // the key of the data on each master
	Process string          // the data, as identity.Of returns it; Rename changes it
	Timeout time.Duration   // of one request
	Closed  context.Context // ends when the client begins to close
}

// Announcer announces its client to each master that comes up, and then at long intervals. Its
// requests bypass the queue of requests, so that no operation waits for an announcement. Only
// admin.Inspect uses the announcements.
type Announcer struct {
	Config

	mu    sync.Mutex    // guards Process as well
	pause time.Duration // until the next announcement
	timer *time.Timer   // nil before a master was up
	ended bool
	under sync.WaitGroup

	// By master: whether an announcement is under way (sending), and whether another must follow
	// (stale). An older announcement must not overtake a newer one.
	sending, stale []bool

	// By master: the timer for the next try on a master that refuses all writes. The refusal is
	// over when the master accepts an announcement.
	retries []*time.Timer
}

// New returns an Announcer that has sent nothing yet.
func New(c Config) *Announcer {
	n := len(c.Masters)
	return &Announcer{Config: c, pause: minAnnounce, sending: make([]bool, n), stale: make([]bool, n), retries: make([]*time.Timer, n)}
}

// Rename changes the data to announce. It returns ErrClosed after Stop.
func (a *Announcer) Rename(process string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return master.ErrClosed
	}
	a.Process = process
	if a.timer != nil { // else no master was up yet
		a.announceAll()
	}
	return nil
}

// Announce announces the client to one master.
func (a *Announcer) Announce(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	if a.timer == nil {
		a.timer = time.AfterFunc(a.pause, a.again)
	}
	a.announce(index)
}

// again announces to all masters, and sets the timer for the next time.
func (a *Announcer) again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	a.pause = min(2*a.pause, maxAnnounce)
	a.timer.Reset(a.pause)
	a.announceAll()
}

// announceAll announces to all masters. The caller holds mu.
func (a *Announcer) announceAll() {
	for i := range a.Masters {
		a.announce(i)
	}
}

// announce starts an announcement. If another one is under way, the new one starts when that one
// has ended. The caller holds mu.
func (a *Announcer) announce(index int) {
	if a.sending[index] {
		a.stale[index] = true
		return
	}
	a.sending[index] = true
	process, life := a.Process, announceLife*a.pause
	a.under.Go(func() {
		ctx, cancel := context.WithTimeout(a.Closed, a.Timeout)
		defer cancel()
		m := a.Masters[index]
		if replies, err := m.Do(ctx, master.Text("set", a.Key, process, "px", life.Milliseconds())); err == nil {
			m.Wrote(replies[0].Err())
		}
		if m.Refusal() != nil {
			a.AnnounceSoon(index)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		again := a.stale[index] && !a.ended
		if a.sending[index], a.stale[index] = false, false; again {
			a.announce(index)
		}
	})
}

// refusedPause is the pause between announcements to a master that refuses writes.
const refusedPause = time.Second

// AnnounceSoon announces to one master after a pause.
func (a *Announcer) AnnounceSoon(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch timer := a.retries[index]; {
	case a.ended:
	case timer == nil:
		a.retries[index] = time.AfterFunc(refusedPause, func() { a.Announce(index) })
	default:
		timer.Reset(refusedPause)
	}
}

// Stop stops the Announcer, and waits for announcements under way.
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
