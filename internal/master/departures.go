package master

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
)

const (
	// A master is far if its fastest answer took farTrip or longer. If a request to a far master waited for the answer
	// to the previous batch, it would take twice as long. Requests to a nearer master do wait for this answer. Then
	// they leave as one batch, which costs less than several batches.
	farTrip = 500 * time.Microsecond

	// maxLinks is the highest number of batches that may be under way to a far master.
	maxLinks = 8
)

// departures decides when requests leave for a master, and on which link. The master's mu guards it.
type departures struct {
	width    int           // the highest number of links
	trip     time.Duration // the time of the fastest answer since the master was reached; 0: no answer yet
	recent   time.Duration // the average time of the last answers
	leftAt   clock.Instant // when the last batch left
	links    []*link
	inFlight int         // number of links that carry a batch
	alarm    *time.Timer // only for the method next

	// Only for a far master. A key is the Order of a request in flight. Its value has the queued
	// requests with the same Order: they wait for the answer to the request in flight.
	keysInFlight map[string][]*Request
	blocked      int // number of the requests in keysInFlight
}

func newDepartures(o *redis.Options) departures {
	alarm := time.NewTimer(0)
	alarm.Stop()
	return departures{width: widthOf(o), keysInFlight: make(map[string][]*Request), alarm: alarm}
}

// widthOf returns the highest number of links. Links use at most half of a connection pool, but there is
// at least one link.
func widthOf(o *redis.Options) int {
	return max(1, min(maxLinks, PoolOf(o)/2))
}

// next waits until requests may leave, and returns these requests and the link to use. It returns no
// link when the master is closing and the queue is empty.
func (m *Master) next() (l *link, batch []*Request, far bool) {
	for {
		m.mu.Lock()
		pause := m.revive()
		if len(m.queue) > 0 {
			var gap time.Duration
			if l, gap = m.room(); l != nil {
				if batch = m.take(l); len(batch) > 0 {
					far = m.far()
					m.mu.Unlock()
					return l, batch, far
				}
			}
			pause = shorter(pause, gap)
		} else if m.closing && m.inFlight == 0 && m.gathering == 0 {
			m.mu.Unlock()
			return nil, nil, false
		}
		m.mu.Unlock()
		if pause > 0 {
			m.alarm.Reset(pause)
		}
		select {
		case <-m.wake:
		case <-m.alarm.C:
		}
	}
}

// shorter returns the shorter of two pauses. 0 means a pause without end.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// revive moves the requests in retries to the queue if their pause is over. Otherwise it returns the
// rest of the pause. The caller holds mu.
func (m *Master) revive() time.Duration {
	if len(m.retries) == 0 {
		return 0
	}
	if pause := time.Until(m.retryAt); pause > 0 && !m.closing {
		return pause
	}
	m.queue = append(m.queue, m.retries...)
	m.retries = nil
	return 0
}

// room returns a free link, and prefers a link that is connected. If no batch may leave now, room returns nil and the
// time until the next check. The time is 0 if a link must become free first. The caller holds mu.
func (m *Master) room() (l *link, pause time.Duration) {
	if m.inFlight > 0 {
		if !m.far() || m.inFlight == m.width {
			return nil, 0
		}
		if pause := m.leftAt.Add(m.gap()).Sub(m.Now()); pause > 0 {
			return nil, pause
		}
	}
	for _, free := range m.links {
		if !free.inFlight && (l == nil || l.conn == nil && free.conn != nil) {
			l = free
		}
	}
	if l == nil {
		l = &link{master: m}
		m.links = append(m.links, l)
	}
	return l, 0
}

// gap returns the pause between two batches. It is at least the time by which the last batches were slower than the
// fastest batch, because the master or this machine was busy. A batch that left earlier would only wait for the busy
// machine, and would have fewer requests.
func (m *Master) gap() time.Duration {
	return max(m.trip/time.Duration(m.width), m.recent-m.trip)
}

// Trip returns the time of the fastest answer since the master was reached; 0: no answer yet.
func (m *Master) Trip() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trip
}

func (m *Master) far() bool { return m.width > 1 && m.trip >= farTrip }

// take takes from the queue the requests that may leave on l. While a request is in flight, other
// requests with the same Order must wait: batches on different links keep no order. The caller holds mu.
func (m *Master) take(l *link) []*Request {
	far := m.far()
	batch, taken := l.batch[:0], 0
	for taken < len(m.queue) && len(batch) < maxBatch {
		r := m.queue[taken]
		taken++
		if far {
			if behind, ahead := m.keysInFlight[r.Order]; ahead {
				m.keysInFlight[r.Order] = append(behind, r)
				m.blocked++
				continue
			}
		}
		r = r.newest()
		r.waits = false
		batch = append(batch, r)
	}
	if rest := m.queue[taken:]; len(rest) > taken { // to move the whole rest for each batch would take long
		clear(m.queue[:taken])
		m.queue = rest
	} else {
		n := copy(m.queue, rest)
		clear(m.queue[n:])
		m.queue = m.queue[:n]
	}
	m.first = max(0, m.first-taken)
	l.batch = batch
	if len(batch) == 0 {
		return nil
	}
	l.inFlight = true
	m.inFlight++
	if far {
		for _, r := range batch {
			m.keysInFlight[r.Order] = nil
			l.orders = append(l.orders, r.Order)
		}
		m.leftAt = m.Now()
	}
	return batch
}

// carry sends a batch on the link, passes the answers on, and frees the link.
func (m *Master) carry(l *link, batch []*Request) {
	l.serve(batch)
	clear(batch)
	m.mu.Lock()
	if l.trip > 0 {
		if m.trip == 0 || l.trip < m.trip {
			m.trip, m.recent = l.trip, l.trip
		}
		m.recent += (l.trip - m.recent) / 8
	}
	far := len(l.orders) > 0
	var next []*Request // these leave before the requests that were queued meanwhile
	for _, order := range l.orders {
		next = append(next, m.keysInFlight[order]...)
		delete(m.keysInFlight, order)
	}
	if len(next) > 0 {
		m.blocked -= len(next)
		m.first += len(next)
		m.queue = append(next, m.queue...)
	}
	clear(l.orders)
	l.orders = l.orders[:0]
	l.inFlight = false
	m.inFlight--
	m.mu.Unlock()
	if far {
		m.nudge()
	}
}

func (m *Master) forgetTrip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trip = 0
}

func (m *Master) hangUp() {
	for _, l := range m.links {
		l.hangUp()
	}
}
