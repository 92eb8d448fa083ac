package redlock

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

const (
	// minRetry and maxRetry bound the pause after a master could not be reached.
	// It is short, because a dial that is refused costs little and a majority that
	// comes back should be noticed at once.
	minRetry = 5 * time.Millisecond
	maxRetry = 100 * time.Millisecond
)

// health is whether a master can be reached, and has all that it should remember.
type health struct {
	// connecting has its one place taken while a connection is made: links that
	// need one at the same time come one after the other. It guards what follows.
	connecting chan struct{}
	looking    bool // whether the server may vote is being looked into
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	mu        sync.Mutex
	forgetful bool          // a counter was missing
	mending   bool          // that is being looked into
	mendAt    clock.Instant // not before: the next look
}

// errLooking is the answer while it is looked into whether a master may vote.
var errLooking = &outError{"whether it may vote is being looked into", 0}

// failedLately returns why the master could not be reached a moment ago, if that
// was so, or may not be used yet.
func (m *master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.looking {
		return errLooking
	}
	if h.downErr != nil && m.now().Before(h.failedAt.Add(maxAgain)) {
		return h.downErr
	}
	return nil
}

// connect makes sure that the link has a connection to a server that may vote.
// After a failure it fails at once for a short, growing time.
func (m *master) connect(l *link) error {
	if l.conn != nil {
		return nil
	}
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.looking {
		return errLooking
	}
	if m.now().Before(h.downTill) {
		return h.downErr
	}
	err := l.hello()
	if err == nil {
		if h.downErr != nil {
			m.forgetTrip() // it may be another server, elsewhere
		}
		h.pause, h.downErr = 0, nil
		if !h.up {
			h.up = true
			m.observer.MasterUp(m.name)
		}
		return nil
	}
	l.hangUp()
	if err != errLooking {
		m.failed(err)
	}
	return err
}

// failed notes that the master cannot be used, and why. The caller has connecting.
func (m *master) failed(err error) {
	h := &m.health
	if h.up || h.downErr == nil {
		h.up = false
		m.observer.MasterDown(m.name, readable(err))
	}
	h.pause = min(max(2*h.pause, minRetry), maxRetry)
	h.failedAt = m.now()
	h.downTill = h.failedAt.Add(max(h.pause, againAfter(err)))
	h.downErr = err
}

// lookInto has may find out whether the server may vote, and returns errLooking. It
// asks other masters, one of which may hang, so it has a goroutine of its own, and
// the queue fails at once meanwhile. then is called when that is over. The caller has
// connecting.
func (m *master) lookInto(may func() error, then func()) error {
	h := &m.health
	h.looking = true
	m.looks.Go(func() {
		err := may()
		h.connecting <- struct{}{}
		h.looking = false
		if err != nil {
			m.failed(err)
		}
		<-h.connecting
		then()
	})
	return errLooking
}

// forgot notes that a counter is missing.
func (m *master) forgot() {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.forgetful = true
}

// mend has a missing counter looked into, now and then, as lookInto does. The master
// votes on for the buckets whose counters are there.
func (m *master) mend(d durability, now clock.Instant) {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.forgetful || h.mending || now.Before(h.mendAt) {
		return
	}
	h.forgetful, h.mending = false, true
	m.looks.Go(func() {
		err := m.readmit(m, d)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mending = false
		h.forgetful = h.forgetful || err != nil
		h.mendAt = m.now().Add(maxAgain)
	})
}
