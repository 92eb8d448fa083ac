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
	// maxBacklog is the highest length of a master's queue: the queue of a master that hangs must not fill the memory.
	// Only requests with Until are queued beyond this length, for example releases. There are no more releases than
	// holds, and each release is dropped when its lock has expired on the master.
	maxBacklog = 16384

	// maxBatch is the highest number of requests in a batch. The master serves no other client during
	// a batch, and the first reply of a batch waits for the last.
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
	Index    int    // the index among the masters; every answer carries it
	Name     string // the address, for logs
	Now      func() clock.Instant
	Register string // the key of the register of members

	// SideTimeout is the longest time for a command past the queue, or for a group of such commands.
	SideTimeout time.Duration

	Gate Gate

	// Up is called when the server can be used, for the first time or again. Down is called with the
	// reason when the server cannot be used, or refuses writes. Neither is called twice in a row. Both
	// must return soon.
	Up   func()
	Down func(error)

	// Refuses is called when the server begins to refuse writes. From then on, somebody must try a
	// write now and then, and pass the result to Wrote. Refuses must return soon.
	Refuses func()

	// Called, unless nil, is called after each batch. took is how long the batch was under way. err is
	// the reason if there are no answers. Called must return soon.
	Called func(took time.Duration, operations int, err error)

	// GoOn, unless nil, is called with the key of each lock for which a batch had no steps left (see
	// scripts/queue.lua). It must cause an operation script.Leave that continues in this queue. GoOn must return soon.
	GoOn func(lockKey string)
}

// Master is one independent Redis server. It has one queue, one goroutine (run), and links, which
// are the connections. Requests that are queued while a batch is under way leave as the next batch.
// If no batch is under way, a request is sent at once. Several batches may be under way to a far
// master, but never two with requests of the same Order, so that a release follows its own acquire.
//
// Locks are taken in this order: health.connecting, then mu or status.turn. A caller of Gate.Greeted
// holds connecting. A caller of Answer, MaySend or a method of a Policy holds none of these locks.
type Master struct {
	Config
	side    *redis.Client // for commands past the queue: m.Redis would share options with its Conns, without a lock
	health  health
	status  status
	hurried context.Context // ends with Hurry
	hurry   context.CancelFunc

	mu        sync.Mutex
	queue     []*Request // requests that may leave
	first     int        // number of requests with First, at the head of the queue
	retries   []*Request // requests with Until that failed; they return to the queue at retryAt
	retryAt   time.Time
	failFast  error // why the master failed a moment ago; while this is set, requests fail at once
	closing   bool
	gathering int           // number of calls of Gather under way
	gathered  []*Request    // requests that these calls keep from the queue
	wake      chan struct{} // capacity 1
	stopped   chan struct{} // closed when run has returned
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

// Usable reports whether the server could be used when the client last tried to connect to it.
func (m *Master) Usable() bool {
	m.health.connecting <- struct{}{}
	defer func() { <-m.health.connecting }()
	return m.health.up
}

// Pending returns the number of requests that are queued, under way, or waiting for a retry.
func (m *Master) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.queue) + len(m.gathered) + len(m.retries) + m.blocked
	for _, l := range m.links {
		if l.inFlight {
			n += len(l.batch)
		}
	}
	return n
}

// Unanswered returns the number of queued requests without Until, plus the number of batches under way.
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
	count(m.gathered)
	for _, waiting := range m.keysInFlight {
		count(waiting)
	}
	return n + m.inFlight
}

// Submit queues one or two requests, which leave in this order. If the first request has First, all
// of these requests leave before requests without First. Submit never blocks.
func (m *Master) Submit(all ...*Request) {
	var refused [2]error
	m.mu.Lock()
	for i, r := range all {
		if refused[i] = m.refusal(r); refused[i] == nil {
			r.waits, r.hurries = true, all[0].First
			if m.gathering > 0 {
				m.gathered = append(m.gathered, r)
			} else {
				m.enqueue(r)
			}
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

// enqueue appends r to the queue. If r hurries, enqueue inserts it behind the requests that hurry, and before all other
// requests. The caller holds mu.
func (m *Master) enqueue(r *Request) {
	if !r.hurries {
		m.queue = append(m.queue, r)
		return
	}
	m.queue = slices.Insert(m.queue, m.first, r)
	m.first++
}

// Replace queues r, a newer version of an older request (before) with the same Order. If the older
// request is still in the queue, r takes its place, and the older request is answered as not sent. While
// the master hangs, r is refused, and the older request remains.
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
	case len(m.queue)+len(m.gathered)+m.blocked >= maxBacklog:
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

// Close begins to end the master: queued requests are sent, and requests with Until are tried once more.
// Wait returns when this is done.
func (m *Master) Close() {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.nudge()
}

// Wait returns when everything under way at Close is done.
func (m *Master) Wait() { <-m.stopped }

// run serves the queue until Close. While a batch is under way to a near master, no other batch may
// leave. So run itself carries a near master's batch.
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

// answer gives the asker of a request the first answer. If the request must be sent again, answer keeps it in retries.
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
