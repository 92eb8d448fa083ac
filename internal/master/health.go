package master

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// MinRetry and MaxRetry bound the pause after a master could not be reached. The pause is
	// short, because a refused dial costs little, and a majority that comes back should be noticed
	// at once.
	MinRetry = 5 * time.Millisecond
	MaxRetry = 100 * time.Millisecond
)

// health is the state of the connection to a server.
type health struct {
	// connecting is a lock, held while a connection is made: links connect one after the other. It guards the
	// fields from downTill to up.
	connecting chan struct{}
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	// Accessed without connecting.
	down      atomic.Bool  // reported as down, and not up again
	retry     atomic.Bool  // try the next connection whatever the last failure was
	epoch     atomic.Int64 // a link of an earlier epoch connects again before its next batch
	connected atomic.Int32 // how many links have a connection
	answered  atomic.Int64 // when the last answered batch was sent
}

// MaxOut is how long a failure is believed: later, another client may have mended the server.
const MaxOut = 2 * time.Second

// failedLately returns the error of the last connection, if the error is younger than MaxOut and no
// batch that was sent after the error was answered.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && !h.retry.Load() && m.Now().Before(h.failedAt.Add(MaxOut)) && clock.Instant(h.answered.Load()).Before(h.failedAt) {
		return h.downErr
	}
	return nil
}

// failed notes the error of a connection. The master is down if the server may not be used, or if
// no other link is connected to it. If another link is connected, the server may only be busy for
// a moment, or have no room for one more connection. The caller holds connecting.
func (m *Master) failed(err error) {
	h := &m.health
	refused := errors.Is(err, script.ErrNotMember) || errors.Is(err, script.ErrDenied)
	if (h.up || h.downErr == nil) && (refused || h.connected.Load() == 0) {
		h.up = false
		h.down.Store(true)
		m.setStatus(func(s *status) { s.reached, s.down = false, err })
	}
	if errors.Is(err, script.ErrNotMember) {
		m.Leave(err)
	}
	h.pause = min(max(2*h.pause, MinRetry), MaxRetry)
	h.failedAt = m.Now()
	h.downTill = h.failedAt.Add(max(h.pause, retryIn(err)))
	h.downErr = err
}

// recheck dials again after a while, if a connection was refused while other links still have
// theirs. Nothing else would detect the end of the refusal.
func (m *Master) recheck() {
	h := &m.health
	select {
	case h.connecting <- struct{}{}:
	default: // another goroutine is connecting
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

// Unusable notes why the server cannot be used, unless it is in use. A command past the queue may
// find such a fault before the queue sends anything.
func (m *Master) Unusable(err error) {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	if !m.health.up {
		m.failed(err)
	}
}

// Leave closes the connections to a server that may not be used. A verdict on a server holds only
// for a while: later its address may lead to another server, so the next command makes a new
// connection. A connection younger than MaxOut leads to the current server, and is kept.
func (m *Master) Leave(why error) { m.door.leave(time.Now().Add(-MaxOut), why) }

// answeredAt notes that the batch sent at left was answered. A batch that was sent later may have
// been answered earlier.
func (h *health) answeredAt(left clock.Instant) {
	for was := h.answered.Load(); was < int64(left) && !h.answered.CompareAndSwap(was, int64(left)); {
		was = h.answered.Load()
	}
}

// Reconnect makes each link connect again before its next batch, because the address of the
// master leads to another server. No batch that is sent after this call uses an old connection.
func (m *Master) Reconnect() { m.health.epoch.Add(1) }

// dropIdle drops the idle connections. They may be dead, like the connection whose answer timed
// out: after a break in the network all of them are dead.
func (m *Master) dropIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		if !l.inFlight {
			l.drop()
		}
	}
}

// Retry lets the next request try the server, whatever the last failure was. It does not wait for a
// connection that is being made.
func (m *Master) Retry() { m.health.retry.Store(true) }
