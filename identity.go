package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// The masters are told who a client is again and again: at first after
	// minAnnounce, then after twice as long each time, up to maxAnnounce. Each word
	// lasts for announceLife times as long as it takes to the next. So a client that
	// lived for a moment is forgotten within minutes, and one that lives on costs
	// nothing.
	minAnnounce  = time.Minute
	maxAnnounce  = time.Hour
	announceLife = 4

	// maxProgramName bounds WithName, in bytes.
	maxProgramName = 256
)

// announcer tells the masters who its client is, whenever one comes up and seldom after
// that. It does so beside the queue of requests, so that no operation waits for it, and
// whether a master takes it matters to nobody but admin.Inspect.
type announcer struct {
	client *Client
	key    string
	who    string // as identity.Of has it

	mu    sync.Mutex
	pause time.Duration // until the next time
	timer *time.Timer   // nil before a master was up
	ended bool
	under sync.WaitGroup

	// By master: it is being told, and there is more to tell it then. An older word must not
	// overtake a newer one.
	telling, stale [quorum.MaxMasters]bool

	// By master: the timer for one that refused to be told, as it refuses all that writes. When it takes the word, the
	// refusal is over.
	retries [quorum.MaxMasters]*time.Timer
}

// as sets which client the masters are told of.
func (a *announcer) as(c *Client) {
	a.client, a.key, a.who = c, script.ClientKey(c.prefix, c.id), identity.Of(c.name)
	a.pause = minAnnounce
}

func validateProgramName(name string) error {
	if len(name) <= maxProgramName {
		return nil
	}
	return &OptionError{"client's name", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes", maxProgramName)}
}

// SetName changes the name that WithName gave. The masters are told in the background.
//
// Errors: ErrBadOption; ErrClosed.
func (c *Client) SetName(name string) error {
	c.check(context.Background())
	if err := validateProgramName(name); err != nil {
		return err
	}
	return c.announce.rename(identity.Of(name))
}

// rename changes whom to announce.
func (a *announcer) rename(who string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return ErrClosed
	}
	a.who = who
	if a.timer != nil { // else no master has been told
		a.tellAll()
	}
	return nil
}

// to tells one master.
func (a *announcer) to(index int) {
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
func (a *announcer) again() {
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
func (a *announcer) tellAll() {
	for i := range a.client.masters {
		a.tell(i)
	}
}

// tell starts telling a master who the client is, or has it told once more if that is under way. The caller
// holds mu.
func (a *announcer) tell(index int) {
	if a.telling[index] {
		a.stale[index] = true
		return
	}
	a.telling[index] = true
	who, life := a.who, announceLife*a.pause
	a.under.Go(func() {
		ctx, cancel := context.WithTimeout(a.client.closed, a.client.requestTimeout)
		defer cancel()
		m := a.client.masters[index]
		if replies, err := m.Do(ctx, master.Text("set", a.key, who, "px", life.Milliseconds())); err == nil {
			m.Wrote(replies[0].Err())
		}
		if m.Refusal() != nil {
			a.soon(index)
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

// soon tells a master after a pause.
func (a *announcer) soon(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch timer := a.retries[index]; {
	case a.ended:
	case timer == nil:
		a.retries[index] = time.AfterFunc(refusedPause, func() { a.to(index) })
	default:
		timer.Reset(refusedPause)
	}
}

// stop waits for what is under way.
func (a *announcer) stop() {
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
