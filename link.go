package redlock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// link is one connection to a master. It is bound to one server process for its
// life, so what was found out about the server when it was made (hello) holds for
// every reply that comes on it. One goroutine at a time uses it.
type link struct {
	master  *master
	conn    *redis.Conn
	served  bool // it has carried requests: it may be stale by now
	durable bool
	trip    time.Duration // how long the last pipeline took; 0: it did not end well

	// Guarded by the master's mu.
	away  bool
	batch []*request // what it carries; kept for the next
	names []string   // that are abroad with it
}

// serve sends one batch and hands out the answers.
func (l *link) serve(batch []*request) {
	m := l.master
	l.trip = 0
	if l.conn == nil {
		if err := m.failedLately(); err != nil {
			// Nobody waits for a master that failed a moment ago: with a hung one among
			// them, contenders would else keep each split vote for a whole time-out.
			m.setSilent(err)
			defer m.setSilent(nil)
			kept := batch[:0]
			for _, r := range batch {
				if r.keep == 0 {
					m.tell(r, vote{answer: Refused, err: err})
				} else {
					kept = append(kept, r)
				}
			}
			batch = kept
		}
	}
	if err := m.connect(l); err != nil {
		for _, r := range batch {
			m.tell(r, vote{answer: Refused, err: err})
		}
		return
	}
	m.setSilent(nil)
	now := m.now()
	live := batch[:0]
	for _, r := range batch {
		if r.begin(m.index, now) {
			live = append(live, r)
		}
	}
	stale := l.served
	l.exchange(live)
	got := m.now()
	if l.conn == nil && stale {
		l.resend(live)
		got = m.now()
	} else if l.conn != nil && len(live) > 0 {
		l.trip = max(got.sub(now), 1)
	}
	for _, r := range live {
		v := r.read()
		v.sent, v.got, v.doubt = r.sent, got, v.answer == Unknown || r.resent
		m.tell(r, v)
	}
	m.mend(l.durable, got)
}

// resend sends what was left without an answer once more, on a new connection.
// One that had been idle may have been closed by the server or by something on
// the way, which says nothing about the server's state. All scripts may be run
// again; the votes are marked, for the first copy may be under way yet. After a
// time-out nothing is sent again, the time is up.
func (l *link) resend(live []*request) {
	left := unanswered(live)
	for _, r := range left {
		if isTimeout(r.cmd.Err()) {
			return
		}
	}
	if len(left) == 0 || l.master.connect(l) != nil {
		return
	}
	for _, r := range left {
		r.resent = true
		r.prepare(l.master.index)
	}
	l.exchange(left)
}

func unanswered(live []*request) []*request {
	var left []*request
	for _, r := range live {
		if err := r.cmd.Err(); err != nil && !isReply(err) {
			left = append(left, r)
		}
	}
	return left
}

// exchange sends the requests on the connection and reads the replies into
// them. It drops the connection when it broke, or when the server answered
// something that hello should look into.
func (l *link) exchange(live []*request) {
	l.served = true
	l.pipeline(live)
	missing := -1 // the first whose script the server did not know
	broken := false
	for i, r := range live {
		switch err := r.cmd.Err(); {
		case err == nil, redis.HasErrorPrefix(err, "GONE"):
		case redis.HasErrorPrefix(err, "NOTADMITTED"):
			l.master.forgot()
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			if missing < 0 {
				missing = i
			}
		default:
			broken = true
		}
	}
	if broken {
		l.hangUp()
	} else if missing >= 0 {
		l.rerun(live[missing:])
	}
}

// rerun is for SCRIPT FLUSH: a request that was refused with NOSCRIPT was not run.
// Those behind it were, too early: a release before its own acquire, an acquire
// before the release that makes room for it. So all are run again, in order; only
// a release that was done stays done. As EVAL, because between loading and asking
// the scripts may be flushed again.
func (l *link) rerun(behind []*request) {
	var again []*request
	for _, r := range behind {
		if r.script == releaseScript && r.cmd.Err() == nil && r.cmd.Val() == 1 {
			continue
		}
		r.prepareSource()
		again = append(again, r)
	}
	l.pipeline(again)
	for _, r := range again {
		if err := r.cmd.Err(); err != nil && !isReply(err) {
			l.hangUp()
			return
		}
	}
}

// pipeline runs the commands; each keeps its own error.
func (l *link) pipeline(live []*request) {
	ctx := context.Background() // the client's own time-outs bound it
	switch len(live) {
	case 0:
	case 1:
		_ = l.conn.Process(ctx, &live[0].cmd)
	default:
		pipe := l.conn.Pipeline()
		for _, r := range live {
			_ = pipe.Process(ctx, &r.cmd)
		}
		if _, err := pipe.Exec(ctx); err != nil && !isReply(err) {
			blame(live, err)
		}
	}
}

// blame gives the error of a pipeline to its commands when it was given to none:
// go-redis leaves them without one when it could not get the connection, and
// they would read as answered.
func blame(live []*request, err error) {
	if len(unanswered(live)) == 0 {
		for _, r := range live {
			r.cmd.SetErr(err)
		}
	}
}

// hello takes a connection, loads the scripts and asks whether the server may
// vote. It is one round trip.
func (l *link) hello() error {
	m, ctx := l.master, context.Background()
	l.conn, l.served = m.redis.Conn(), false
	var said *helloCmds
	var loaded []*redis.StringCmd
	cmds, err := l.conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		said = m.askHello(ctx, p)
		for _, s := range scripts {
			loaded = append(loaded, p.ScriptLoad(ctx, s.source))
		}
		return nil
	})
	if err := connErr(cmds, err); err != nil {
		return err
	}
	for _, load := range loaded {
		if err := load.Err(); err != nil {
			return err
		}
	}
	hello, err := said.read()
	if err != nil {
		return err
	}
	l.durable = hello.durable
	return m.admit(m, hello)
}

func (l *link) hangUp() {
	if l.conn != nil {
		_ = l.conn.Close() // back to the pool, or away if it broke: nothing to report
		l.conn = nil
	}
}
