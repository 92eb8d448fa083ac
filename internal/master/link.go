package master

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// link is one connection to a master. Until the link is hung up, it leads to the same server process. So
// what greet found about the server holds for every reply. One goroutine at a time uses a link.
type link struct {
	master *Master

	// While the link is hung up, conn is nil, and the other fields of this group have no meaning.
	conn    *redis.Conn
	epoch   int64  // the epoch in which the link was connected
	served  bool   // the connection has carried requests: it may be stale by now
	member  string // the id of the member that the server is
	version string // the newest version of the batches that the connection has carried

	// These are for the batch in flight.
	argv   []any  // the command; the memory is kept for the next command
	keys   int    // how many words of argv are keys
	header string // of the batch: member and version

	trip time.Duration // how long the last batch took; 0: the batch failed

	// The master's mu guards these.
	inFlight bool
	batch    []*Request // the batch in flight; the memory is kept for the next batch
	orders   []string   // only for a far master: the Order of each request of the batch
}

// serve sends one batch and passes the answers on.
func (l *link) serve(batch []*Request) {
	m := l.master
	l.trip = 0
	if l.conn == nil {
		if err := m.failedLately(); err != nil {
			// No request waits for a master that failed a moment ago. Otherwise, while one of the
			// masters hangs, each split vote among rivals would last for a whole time-out, because
			// the rivals would wait for that master.
			if m.health.connected.Load() == 0 {
				m.setFailFast(err)
				defer m.setFailFast(nil)
			}
			kept := batch[:0]
			for _, r := range batch {
				if r.Until == 0 {
					m.answer(r, script.Vote{Answer: script.Refused, Err: err})
				} else {
					kept = append(kept, r)
				}
			}
			batch = kept
		}
	}
	now, err := m.ready(l)
	if err != nil {
		for _, r := range batch {
			m.answer(r, script.Vote{Answer: script.Refused, Err: err})
		}
		return
	}
	m.setFailFast(nil)
	live := batch[:0]
	l.version = cmp.Or(newestVersion(batch), l.version)
	l.header = script.Header(l.member, l.version)
	for _, r := range batch {
		if r.Version != "" && r.Version != l.version {
			m.answer(r, script.Vote{Answer: script.Refused, Err: script.ErrVersion})
		} else if r.begin(m.Index, now) {
			live = append(live, r)
		}
	}
	stale := l.served
	err = l.exchange(live)
	got := m.Now()
	if isTimeout(err) {
		m.dropIdle()
	}
	if err != nil && stale && !isTimeout(err) && m.connect(l) == nil {
		// The connection had been idle. The server, or a device in between, may have closed it. So the error shows
		// nothing about the server, and the batch is sent again: every operation is safe to run twice. The requests are
		// marked, because the first copy may still be under way. After a time-out nothing is sent again, because no
		// time is left.
		for _, r := range live {
			r.resent = true
			r.prepare(m.Index)
		}
		_ = l.exchange(live)
		got = m.Now()
	} else if l.conn != nil && len(live) > 0 {
		l.trip = max(got.Sub(now), 1)
		m.health.answeredAt(now)
	}
	for _, r := range live {
		v := r.read()
		v.Sent, v.Got, v.MayArrive = r.sent, got, v.Answer == script.Unknown || r.resent
		m.answer(r, v)
	}
	if l.conn != nil && m.health.down.Load() {
		m.recheck()
	}
}

// exchange makes the master run the requests' calls, in one script, and stores the reply to each call.
// It hangs up if the connection broke, or if a reply shows that a new greeting is needed. It returns the
// error of the connection. After such an error, each call may have run or not.
func (l *link) exchange(live []*Request) error {
	if len(live) == 0 {
		return nil
	}
	l.served = true
	l.argv = append(l.argv[:0], "evalsha", &script.BatchSHA, &l.keys, &l.master.Register)
	for _, r := range live {
		l.argv = append(l.argv, r.Call.Keys()...)
	}
	l.keys = len(l.argv) - 3
	l.argv = append(l.argv, &l.header)
	for _, r := range live {
		l.argv = append(l.argv, r.Call.Args()...)
	}
	var left clock.Instant
	if l.master.Called != nil {
		left = l.master.Now()
	}
	replies, err := l.run()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		// A SCRIPT FLUSH has removed the script, so no call has run. Send the source with EVAL: after a SCRIPT LOAD,
		// the script could be flushed again before the EVALSHA.
		l.argv[0], l.argv[1] = "eval", &script.BatchSource
		replies, err = l.run()
	}
	clear(l.argv)
	if err == nil && (len(replies) < len(live) || len(replies) > 2*len(live)) {
		err = fmt.Errorf("%d calls, but %d replies", len(live), len(replies))
	}
	if l.master.Called != nil {
		l.master.Called(l.master.Now().Sub(left), len(live), err)
	}
	if err != nil {
		for _, r := range live {
			r.reply, r.err = 0, err
		}
		if redis.HasErrorPrefix(err, "NOTMEMBER") {
			l.drop() // the connection leads to another server
			l.master.Gate.Refused(l.master, "")
		}
		l.hangUp()
		l.master.refusesWrite(err)
		if IsReply(err) {
			return nil
		}
		return err
	}
	refused, why := false, ""
	for i, r := range live {
		switch reply := replies[i].(type) {
		case int64:
			r.reply, r.err = reply, nil
		case string:
			r.reply, r.err = 0, replyError(reply)
		default:
			r.reply, r.err = 0, fmt.Errorf("%s: the reply is a %T", r.Call.Name, reply)
		}
		l.master.refusesWrite(r.err)
		switch {
		case r.err == nil, redis.HasErrorPrefix(r.err, "GONE"), redis.HasErrorPrefix(r.err, "OOM"):
		case redis.HasErrorPrefix(r.err, "VERSION"):
			refused, why = true, max(why, r.err.Error()) // max: the first refusal, the longest, has the version and table
		case redis.HasErrorPrefix(r.err, "NOTMEMBER"), redis.HasErrorPrefix(r.err, "UNFIT"):
			refused = true
			l.hangUp() // the next greeting checks the rights
		default:
			l.hangUp()
		}
	}
	if refused {
		l.master.Gate.Refused(l.master, why)
	}
	for _, more := range replies[len(live):] {
		if lockKey, is := more.(string); is && l.master.GoOn != nil {
			l.master.GoOn(lockKey)
		}
	}
	return nil
}

func newestVersion(batch []*Request) string {
	newest := ""
	for _, r := range batch {
		newest = max(newest, r.Version)
	}
	return newest
}

// run sends the command and returns the reply, an array.
func (l *link) run() ([]any, error) {
	ctx := context.Background() // the client's own time-outs bound it
	cmd := redis.NewCmd(ctx, l.argv...)
	err := withRecover(func() error {
		_ = l.conn.Process(ctx, cmd)
		return nil
	})
	if err != nil {
		l.discard()
		return nil, err
	}
	return cmd.Slice()
}

// discard makes a write on the connection fail, so that go-redis closes the connection when it comes back
// to the pool. Otherwise go-redis would use the connection again, in the middle of a reply.
func (l *link) discard() {
	ctx, unwritable := context.Background(), struct{}{}
	_ = withRecover(func() error { return l.conn.Process(ctx, redis.NewCmd(ctx, unwritable)) })
}

// maxReconnects is the highest number of connections that a link makes for one batch. If the address
// leads to a server that was not known yet, the link connects once more.
const maxReconnects = 3

// ready connects the link if it is not connected, and returns the time. If Reconnect was called before
// the returned time, the connection was made after that call.
func (m *Master) ready(l *link) (now clock.Instant, err error) {
	for range maxReconnects {
		if err := m.connect(l); err != nil {
			return 0, err
		}
		now = m.Now()
		if l.epoch == m.health.epoch.Load() {
			return now, nil
		}
		l.drop()
	}
	return 0, NotMember("its address leads to one server after another", MaxOut)
}

// connect connects the link, unless it is connected, and checks that the server may be used. After a failure, connect
// fails without a try for a while. Each further failure makes this pause longer.
func (m *Master) connect(l *link) error {
	if l.conn != nil {
		return nil
	}
	h := &m.health
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if !h.retry.Swap(false) && h.downErr != nil && m.Now().Before(h.downTill) {
		return h.downErr
	}
	l.epoch = h.epoch.Load()
	err := l.greet()
	if err == nil {
		if h.downErr != nil {
			m.forgetTrip() // the server may be another one, elsewhere
		}
		h.pause, h.downErr = 0, nil
		if !h.up {
			h.up = true
			h.down.Store(false)
			m.setStatus(func(s *status) { s.reached, s.down = true, nil })
		}
		return nil
	}
	l.hangUp()
	m.failed(err)
	return err
}

// greet makes a connection, loads the script and asks the gate whether the server may be used. This takes
// one round trip. The caller holds health.connecting.
func (l *link) greet() error {
	m := l.master
	greeting := m.Gate.Greeting()
	commands := append(greeting[:len(greeting):len(greeting)], Text("script", "load", script.BatchSource))
	var replies []Reply
	err := m.onceMore(func() (err error) {
		l.hangUp()
		l.conn, l.served = m.Redis.Conn(), false
		m.health.connected.Add(1)
		replies, err = sendTogether(context.Background(), l.conn, commands)
		return err
	})
	if err != nil {
		return err
	}
	l.member, l.version = "", ""
	if l.member, err = m.Gate.Greeted(m, replies[:len(greeting)]); err != nil {
		return err
	}
	return replies[len(greeting)].Err()
}

// drop hangs up, and closes the connection, which must not be used again.
func (l *link) drop() {
	if l.conn != nil {
		l.discard()
		l.hangUp()
	}
}

func (l *link) hangUp() {
	if l.conn != nil {
		_ = l.conn.Close() // the pool takes the connection back, or closes it if it broke
		l.conn = nil
		l.master.health.connected.Add(-1)
	}
}
