package master

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// maxBacklog bounds a master's queue, so that a hung master does not fill the memory.
	// Releases are queued beyond it: there are no more releases than holds, and each release is
	// dropped when the lease has expired on the master.
	maxBacklog = 16384

	// maxBatch bounds the requests of a batch. So it bounds for how long the master serves no other
	// client, and how long a reply waits for the other replies.
	maxBatch = 128
)

// ErrClosed means that a master is closing, or that its client is closed.
var ErrClosed = errors.New("redlock: client closed")

var (
	errBacklog  = errors.New("not sent: the master's queue is full")
	errReplaced = errors.New("not sent: superseded by a newer renewal")
)

// Config is the configuration of a master.
type Config struct {
	Endpoint
	Index    int    // its index among the masters, passed with every answer
	Name     string // its address, for logs
	Now      func() clock.Instant
	Register string // the key of the register of members

	// SideTimeout bounds a command that is sent past the queue, or a group of them sent together.
	SideTimeout time.Duration

	Gate Gate

	// Up and Down are called in turn. Up is called when the server can be used, for the first time
	// or again. Down is called with the reason when the server cannot be reached, or refuses
	// writes. Both must return soon.
	Up   func()
	Down func(error)

	// Refuses is called when the server begins to refuse writes. The receiver must try a write now
	// and then, and pass the result to Wrote. Refuses must return soon.
	Refuses func()

	// Called, unless nil, is called after each batch, with the time that the batch took, and why
	// there are no answers. It must return soon.
	Called func(took time.Duration, operations int, err error)

	// GoOn, unless nil, is called with the key of each lock for which a batch had no steps left.
	// The receiver then sends a request to go on. GoOn must return soon.
	GoOn func(lockKey string)
}

// Master is one independent Redis server. It has one queue, one goroutine (run), and links, which
// are the connections. Requests that are queued while a batch is under way leave as the next batch.
// A single request is sent at once. To a far master several batches are under way at once, but
// never two with requests of the same Order: a release follows its own acquire.
//
// Locks are taken in this order: health.connecting, then mu or status.turn. Gate.Greeted is called
// while connecting is held. Answer, MaySend and the policies of requests are called while none of
// these locks is held.
type Master struct {
	Config
	side    *redis.Client // for commands past the queue: go-redis's Conn and its client share options without a lock
	health  health
	status  status
	hurried context.Context // ends with Hurry
	hurry   context.CancelFunc

	mu         sync.Mutex
	queue      []*Request
	first      int        // requests at the head of the queue that leave before the others: see Request.First
	retries    []*Request // kept requests that failed, waiting for retryAt
	retryAt    time.Time
	failFast   error // why the master failed a moment ago; while it is tried again, requests fail at once
	closing    bool
	gathering  int           // calls of Gather under way
	ungathered int           // requests at the head of the queue that belong to no such call
	wake       chan struct{} // capacity 1
	stopped    chan struct{} // closed when run has returned
	departures
}

// New returns a master that does nothing before Start.
func New(cfg Config) *Master {
	cfg.door.pace()
	hurried, hurry := context.WithCancel(context.Background())
	return &Master{
		Config:     cfg,
		side:       cfg.Redis.WithTimeout(cfg.SideTimeout),
		health:     health{connecting: make(chan struct{}, 1)},
		status:     status{turn: make(chan struct{}, 1)},
		hurried:    hurried,
		hurry:      hurry,
		wake:       make(chan struct{}, 1),
		stopped:    make(chan struct{}),
		departures: newDepartures(cfg.Redis.Options()),
	}
}

// Start begins to serve the queue.
func (m *Master) Start() { go m.run() }

// Usable reports whether the server could be used when it was last tried.
func (m *Master) Usable() bool {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	return m.health.up
}

// Pending returns the number of requests that are unanswered, or wait for a retry.
func (m *Master) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.queue) + len(m.retries) + m.blocked
	for _, l := range m.links {
		if l.inFlight {
			n += len(l.batch)
		}
	}
	return n
}

// Unanswered returns the number of queued requests without Until, plus the number of batches
// under way.
func (m *Master) Unanswered() (n int) {
	count := func(requests []*Request) {
		for _, r := range requests {
			if r.Until == 0 {
				n++
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	count(m.queue)
	for _, waiting := range m.keysInFlight {
		count(waiting)
	}
	return n + m.inFlight
}

// Submit queues requests, to leave in this order. If the first request has First, all of them
// leave first. Submit never blocks.
func (m *Master) Submit(all ...*Request) {
	var refused [2]error
	m.mu.Lock()
	for i, r := range all {
		if refused[i] = m.refusal(r); refused[i] == nil {
			r.waits = true
			m.enqueue(r, all[0].First)
		}
	}
	m.mu.Unlock()
	m.nudge()
	for i, r := range all {
		if refused[i] != nil {
			m.answer(r, script.Vote{Answer: script.Refused, Err: refused[i]})
		}
	}
}

// enqueue appends r to the queue, or to the requests that leave first. The caller holds mu.
func (m *Master) enqueue(r *Request, first bool) {
	if !first {
		m.queue = append(m.queue, r)
		return
	}
	m.queue = slices.Insert(m.queue, m.first, r)
	m.first++
}

// Replace queues r, which has the order of before. If before was given to Submit or Replace, and is
// still in the queue, r takes its place, and before is answered as not sent. While the master
// hangs, r is refused, and before remains.
func (m *Master) Replace(before, r *Request) {
	m.mu.Lock()
	takes := before.waits && m.failFast == nil
	if takes {
		before.instead, before.waits, r.waits = r, false, true
	}
	m.mu.Unlock()
	if !takes {
		m.Submit(r)
		return
	}
	m.answer(before, script.Vote{Answer: script.Refused, Err: errReplaced})
}

// refusal returns why r cannot be queued, or nil. The caller holds mu.
func (m *Master) refusal(r *Request) error {
	switch {
	case r.Until != 0:
		return nil
	case m.closing:
		return ErrClosed
	case m.failFast != nil:
		return m.failFast
	case len(m.queue)+m.blocked >= maxBacklog:
		return errBacklog
	}
	return nil
}

func (m *Master) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Close lets run finish: queued requests are sent, and requests that must arrive are tried once
// more. Wait returns when that is done.
func (m *Master) Close() {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.nudge()
}

// Wait returns when everything under way at Close is done.
func (m *Master) Wait() { <-m.stopped }

// run serves the queue until Close. No other batch may leave for a near master before the answer,
// so run carries a near master's batch itself.
func (m *Master) run() {
	defer close(m.stopped)
	for {
		l, batch, far := m.next()
		switch {
		case l == nil:
			m.hangUp()
			return
		case far:
			go m.carry(l, batch)
		default:
			m.carry(l, batch)
		}
	}
}

func (m *Master) setFailFast(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failFast = err
}

// answer passes the answer to the asker, once, and keeps a request that must arrive for a retry.
func (m *Master) answer(r *Request, v script.Vote) {
	if !r.answered {
		r.answered = true
		v.Answered = true
		r.To.Answer(m.Index, v)
	}
	if r.Until == 0 || v.Answer == script.Granted || v.NotMine() || r.obsolete(m.Index, m.Now()) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return // this was the last try
	}
	if len(m.retries) == 0 {
		m.retryAt = time.Now().Add(MaxRetry)
	}
	m.retries = append(m.retries, r)
}
