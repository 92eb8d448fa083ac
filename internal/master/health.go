package master

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

const (
	// MinRetry and MaxRetry bound the pause after a master could not be reached.
	// It is short, because a dial that is refused costs little and a majority that
	// comes back should be noticed at once.
	MinRetry = 5 * time.Millisecond
	MaxRetry = 100 * time.Millisecond
)

// health is whether a server can be reached and used.
type health struct {
	// connecting has its one place taken while a connection is made: links that
	// need one at the same time come one after the other. It guards what follows.
	connecting chan struct{}
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	// What needs no connecting.
	retry     atomic.Bool  // the next connection is tried whatever was a moment ago
	connected atomic.Int32 // how many links have a connection
	answered  atomic.Int64 // the instant at which the last batch left that was answered
}

// MaxOut bounds for how long a server is believed to be out: another client may have
// brought it back.
const MaxOut = 2 * time.Second

// failedLately returns why the master could not be reached a moment ago, if that
// was so and it has answered nothing since, or may not be used yet.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && !h.retry.Load() && m.Now().Before(h.failedAt.Add(MaxOut)) && clock.Instant(h.answered.Load()).Before(h.failedAt) {
		return h.downErr
	}
	return nil
}

// failed notes that a connection could not be had, and why; reached: the server answered, and may
// not be used. One that was not reached is down only if no other link is connected to it: it may
// just have no room for one more. The caller has connecting.
func (m *Master) failed(err error, reached bool) {
	h := &m.health
	if (h.up || h.downErr == nil) && (reached || h.connected.Load() == 0) {
		h.up = false
		m.Down(err)
	}
	h.pause = min(max(2*h.pause, MinRetry), MaxRetry)
	h.failedAt = m.Now()
	h.downTill = h.failedAt.Add(max(h.pause, retryIn(err)))
	h.downErr = err
}

// Unusable notes why the server cannot be used, unless it is in use. It is for what was found
// out past the queue, before anything was sent.
func (m *Master) Unusable(err error) {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	if !m.health.up {
		m.failed(err, true)
	}
}

// Retry lets the next request try the server, whatever it was a moment ago. It does not wait for
// a connection that is being made.
func (m *Master) Retry() { m.health.retry.Store(true) }
