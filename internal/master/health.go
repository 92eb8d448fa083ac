package master

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// MinRetry and MaxRetry bound the pause after a master could not be reached. It is short,
	// because a dial that is refused costs little and a majority that comes back should be noticed
	// at once.
	MinRetry = 5 * time.Millisecond
	MaxRetry = 100 * time.Millisecond
)

// health is whether a server can be reached and used.
type health struct {
	// connecting has its one place taken while a connection is made: links that need one at the
	// same time come one after the other. It guards what follows.
	connecting chan struct{}
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	// What needs no connecting.
	down      atomic.Bool  // it was told to be down, and is not up again
	retry     atomic.Bool  // the next connection is tried whatever was a moment ago
	epoch     atomic.Int64 // links of an earlier one connect again before they carry anything
	connected atomic.Int32 // how many links have a connection
	answered  atomic.Int64 // the instant at which the last batch left that was answered
}

// MaxOut bounds for how long a server is believed to be out: another client may have brought it
// back.
const MaxOut = 2 * time.Second

// failedLately returns why the last connection could not be had, if that was less than MaxOut ago
// and no batch that left since was answered.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && !h.retry.Load() && m.Now().Before(h.failedAt.Add(MaxOut)) && clock.Instant(h.answered.Load()).Before(h.failedAt) {
		return h.downErr
	}
	return nil
}

// failed notes that a connection could not be had, and why. The master is down if the server may
// not be used, or if no other link is connected to it: else it may be busy for a moment, or have no
// room for one connection more. The caller has connecting.
func (m *Master) failed(err error) {
	h := &m.health
	refused := errors.Is(err, script.ErrNotMember) || errors.Is(err, script.ErrDenied)
	if (h.up || h.downErr == nil) && (refused || h.connected.Load() == 0) {
		h.up = false
		h.down.Store(true)
		m.setStanding(func(s *standing) { s.reached, s.down = false, err })
	}
	if errors.Is(err, script.ErrNotMember) {
		m.Leave(err)
	}
	h.pause = min(max(2*h.pause, MinRetry), MaxRetry)
	h.failedAt = m.Now()
	h.downTill = h.failedAt.Add(max(h.pause, retryIn(err)))
	h.downErr = err
}

// recheck dials again after a while, if a connection was refused while the links go on with those
// that they have. Nothing else would find out that the refusal is over.
func (m *Master) recheck() {
	h := &m.health
	select {
	case h.connecting <- struct{}{}:
	default: // somebody finds out
		return
	}
	due := !h.up && !m.Now().Before(h.failedAt.Add(MaxOut))
	<-h.connecting
	if due {
		l := &link{master: m}
		_ = m.connect(l)
		l.hangUp()
	}
}

// Unusable notes why the server cannot be used, unless it is in use. It is for a fault that a
// command past the queue found before the queue sent anything.
func (m *Master) Unusable(err error) {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	if !m.health.up {
		m.failed(err)
	}
}

// Leave closes the connections to a server that may not be used for what it is. A verdict on a
// server holds only for a while: its name may lead to another one by then, so what asks again
// connects anew. A connection that is younger than MaxOut tells where the name leads now, and is
// kept.
func (m *Master) Leave(why error) { m.door.leave(time.Now().Add(-MaxOut), why) }

// answeredAt notes that a batch that left then was answered. Another one that left later may have
// been answered before.
func (h *health) answeredAt(left clock.Instant) {
	for was := h.answered.Load(); was < int64(left) && !h.answered.CompareAndSwap(was, int64(left)); {
		was = h.answered.Load()
	}
}

// Reconnect has each link make a new connection before it carries another batch: the address of the
// master leads to another server. No batch that leaves on an old one is sent later than this.
func (m *Master) Reconnect() { m.health.epoch.Add(1) }

// dropIdle drops the connections that carry nothing now. They may have fallen silent, like the one
// on which an answer did not come: after a break in the network all of them do.
func (m *Master) dropIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		if !l.inFlight {
			l.drop()
		}
	}
}

// Retry lets the next request try the server, whatever it was a moment ago. It does not wait for a
// connection that is being made.
func (m *Master) Retry() { m.health.retry.Store(true) }
