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

	retry atomic.Bool // the next connection is tried whatever was a moment ago; needs no connecting
}

// MaxOut bounds for how long a server is believed to be out: another client may have
// brought it back.
const MaxOut = 2 * time.Second

// failedLately returns why the master could not be reached a moment ago, if that
// was so, or may not be used yet.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.downErr != nil && !h.retry.Load() && m.Now().Before(h.failedAt.Add(MaxOut)) {
		return h.downErr
	}
	return nil
}

// failed notes that the master cannot be used, and why. The caller has connecting.
func (m *Master) failed(err error) {
	h := &m.health
	if h.up || h.downErr == nil {
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
		m.failed(err)
	}
}

// Retry lets the next request try the server, whatever it was a moment ago. It does not wait for
// a connection that is being made.
func (m *Master) Retry() { m.health.retry.Store(true) }
