package master

import (
	"sync"
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
	asking     bool // an inquiry into the server is under way
	downTill   clock.Instant
	downErr    error
	failedAt   clock.Instant
	pause      time.Duration
	up         bool

	mu         sync.Mutex
	lost       bool          // the server refused a call that it may not answer
	rechecking bool          // that is being looked into
	recheckAt  clock.Instant // not before: the next look
}

// errAsking is the answer while an inquiry into the server is under way.
var errAsking = NotAdmitted("whether it may vote is being looked into", 0)

// MaxOut bounds for how long a server is believed to be out: another client may have
// brought it back.
const MaxOut = 2 * time.Second

// failedLately returns why the master could not be reached a moment ago, if that
// was so, or may not be used yet.
func (m *Master) failedLately() error {
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if h.asking {
		return errAsking
	}
	if h.downErr != nil && m.Now().Before(h.failedAt.Add(MaxOut)) {
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

// ask has an inquiry find out whether the server may be used, and returns errAsking. It
// may have to ask other masters, one of which may hang, so it has a goroutine of its
// own, and the queue fails at once meanwhile. The caller has connecting.
func (m *Master) ask(later *Inquiry) error {
	h := &m.health
	h.asking = true
	m.inquiries.Go(func() {
		err := later.Ask()
		h.connecting <- struct{}{}
		h.asking = false
		if err != nil {
			m.failed(err)
		}
		<-h.connecting
		later.Over()
	})
	return errAsking
}

// lost notes that the server refused a call that it may not answer.
func (m *Master) lost() {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.lost = true
}

// recheck has that looked into, now and then, as ask does. The server is used
// meanwhile: it answers other calls.
func (m *Master) recheck(s Session, now clock.Instant) {
	h := &m.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lost || h.rechecking || now.Before(h.recheckAt) {
		return
	}
	h.lost, h.rechecking = false, true
	m.inquiries.Go(func() {
		err := s.Readmit()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.rechecking = false
		h.lost = h.lost || err != nil
		h.recheckAt = m.Now().Add(MaxOut)
	})
}
