package master

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// MinRetry and MaxRetry are the shortest and the longest pause after a master could not be reached.
	// Both are short: a refused dial costs little, and clients should detect at once that a majority
	// can be reached again.
	MinRetry = 5 * time.Millisecond
	MaxRetry = 100 * time.Millisecond
)

// health is the state of the connection to a server.
type health struct {
	// connecting is a lock. A goroutine holds it while it makes a connection, so links connect one after
	// the other. It guards the fields from downTill to up.
	connecting chan struct{}
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	// These are used without the lock.
	down      atomic.Bool  // the master was reported as down, and not as up since
	retry     atomic.Bool  // the next connection is tried whatever the last failure was
	epoch     atomic.Int64 // a link of an earlier epoch connects again before its next batch
	connected atomic.Int32 // number of links that have a connection
	answered  atomic.Int64 // the latest sending time of all batches that were answered
}

// MaxOut is the time for which a failure counts. After that time, the cause may be gone.
const MaxOut = 2 * time.Second

// failedLately returns the error of the last try to connect, or nil. It returns nil if the error is older
// than MaxOut, or if the server has answered a batch that was sent after the error.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && !h.retry.Load() && m.Now().Before(h.failedAt.Add(MaxOut)) && clock.Instant(h.answered.Load()).Before(h.failedAt) {
		return h.downErr
	}
	return nil
}

// failed records why a connection failed. The master is down if the server may not be used, or if no
// other link is connected. If another link is connected, the server may only be busy for a moment, or
// may have no room for one more connection. The caller holds h.connecting.
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

// recheck dials again if the last connection was refused MaxOut ago or earlier, and other links are still
// connected. Nothing else would detect that the server no longer refuses connections.
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

// Unusable records why the server cannot be used. It does nothing if the server is in use. It is for
// commands past the queue: they may fail before the queue has sent anything.
func (m *Master) Unusable(err error) {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	if !m.health.up {
		m.failed(err)
	}
}

// Leave closes the connections to a server that may not be used. Later, the same address may lead to
// another server, so the next command must make a new connection. Connections that are younger than
// MaxOut are kept: they lead to the server that has the address now.
func (m *Master) Leave(why error) { m.door.leave(time.Now().Add(-MaxOut), why) }

// answeredAt records that a batch was answered, and when this batch had left. It changes nothing if a batch that left
// later is already answered.
func (h *health) answeredAt(left clock.Instant) {
	for was := h.answered.Load(); was < int64(left) && !h.answered.CompareAndSwap(was, int64(left)); {
		was = h.answered.Load()
	}
}

// Reconnect makes each link connect again before its next batch. Call it if the master's address leads to another
// server than before. No batch that is sent after this call uses an old connection.
func (m *Master) Reconnect() { m.health.epoch.Add(1) }

// dropIdle drops the idle connections, after the answer on another connection timed out. The idle
// connections may be dead, too: after a break in the network all connections are.
func (m *Master) dropIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.links {
		if !l.inFlight {
			l.drop()
		}
	}
}

// Retry makes the next request try the server, whatever the last failure was. It does not wait for a
// connection that is being made.
func (m *Master) Retry() { m.health.retry.Store(true) }
