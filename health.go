package redlock

import (
	"sync"
	"time"
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
	downTill   instant
	downErr    error
	failedAt   instant
	pause      time.Duration
	up         bool

	mu        sync.Mutex
	forgetful bool    // a counter was missing
	mendAt    instant // not before: the next look into that
}

// failedLately returns why the master could not be reached a moment ago, if that
// was so.
func (m *master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && m.now().before(h.failedAt.add(maxAgain)) {
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
	if m.now().before(h.downTill) {
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
	if h.up || h.downErr == nil {
		h.up = false
		m.observer.MasterDown(m.name, readable(err))
	}
	h.pause = min(max(2*h.pause, minRetry), maxRetry)
	h.failedAt = m.now()
	h.downTill = h.failedAt.add(max(h.pause, againAfter(err)))
	h.downErr = err
	return err
}

// forgot notes that a counter is missing.
func (m *master) forgot() {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.forgetful = true
}

// mend has a missing counter looked into, now and then. The master votes on for
// the buckets whose counters are there.
func (m *master) mend(durable bool, now instant) {
	h := &m.health
	h.mu.Lock()
	due := h.forgetful && !now.before(h.mendAt)
	if due {
		h.forgetful, h.mendAt = false, now.add(admissionTimeout) // nobody else meanwhile
	}
	h.mu.Unlock()
	if !due {
		return
	}
	err := m.readmit(m, durable)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetful = h.forgetful || err != nil
	h.mendAt = m.now().add(maxAgain)
}
