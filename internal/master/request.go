package master

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// Asker puts a question to masters. Its methods are called by the masters' goroutines, and Answer
// by who submits or replaces a request: they must not block.
type Asker interface {
	// MaySend is called just before the request is written for the first time. It returns false if
	// nobody wants the request any more: then the request is dropped, and Answer is not called.
	MaySend(master int) bool

	// Answer is called once for every request that began, and for those that failed before.
	Answer(master int, v script.Vote)
}

// Request is one call to one master.
type Request struct {
	Order string // requests with the same one leave in the order of their places in the queue
	Call  script.Call
	To    Asker

	// Version is that of the table of members which the master must have to run the call; "" for
	// one that it runs at any.
	Version string

	// First makes it leave before all requests without that. It is for what concerns an acquisition
	// whose acquire this master has answered: so nothing of this order that has to leave before it
	// is queued. Behind the acquires of others, the end of a hold would wait for the beginnings of
	// those that come after.
	First bool

	// Until is set on a request that must arrive: it is sent again until the master has answered
	// yes or "not yours", or this instant has passed.
	Until clock.Instant

	// Policy, if not nil, is asked before each sending.
	Policy Policy

	// The state: see doc.go. A request with Until is queued, and in a batch, again after each failure.
	waits    bool          // queued or blocked, and not retried: Replace can take its place
	instead  *Request      // took its place in the queue; nil: none did
	began    bool          // from the first sent on
	sent     clock.Instant // when it was sent first; 0 before
	resent   bool          // its batch was sent again after a break: the first copy may be executed later; stays
	answered bool          // the asker has its answer; a retry gives it no other
	reply    int64         // sent: what the call replied last
	err      error         // sent: why there is no reply; nil: there is one
}

// Policy decides about a request when it is to be sent. Its methods are called by the masters'
// goroutines: they must not block.
type Policy interface {
	// Obsolete reports that the request is of no use any more; answered tells whether the asker has
	// its answer.
	Obsolete(master int, answered bool) bool

	// Prepare returns the call to send, which is given or another in its place; resent tells
	// whether an earlier copy may be under way.
	Prepare(master int, given script.Call, resent bool) script.Call
}

// newest is the request that is sent when it is the turn of r.
func (r *Request) newest() *Request {
	for r.instead != nil {
		r = r.instead
	}
	return r
}

// obsolete reports that r is of no use any more.
func (r *Request) obsolete(master int, now clock.Instant) bool {
	return r.Until != 0 && now.After(r.Until) || r.Policy != nil && r.Policy.Obsolete(master, r.answered)
}

// begin reports whether r is still wanted, and stamps it.
func (r *Request) begin(master int, now clock.Instant) bool {
	if r.obsolete(master, now) {
		return false
	}
	if !r.began {
		if !r.To.MaySend(master) {
			return false
		}
		r.began, r.sent = true, now
	}
	r.prepare(master)
	return true
}

// prepare makes the call ready to be sent, also once more.
func (r *Request) prepare(master int) {
	if r.Policy != nil {
		r.Call = r.Policy.Prepare(master, r.Call, r.resent)
	}
}

// read turns the reply into a vote.
func (r *Request) read() script.Vote {
	switch {
	case r.err == nil:
		return r.Call.Read(r.reply)
	case redis.HasErrorPrefix(r.err, "NOTMEMBER"):
		return script.Vote{Answer: script.Refused, Err: fmt.Errorf("%w: %s", script.ErrNotMember, strings.TrimPrefix(r.err.Error(), "NOTMEMBER "))}
	case redis.HasErrorPrefix(r.err, "UNFIT"):
		return script.Vote{Answer: script.Refused, Err: fmt.Errorf("%w: %s", script.ErrNotMember, strings.TrimPrefix(r.err.Error(), "UNFIT "))}
	case redis.HasErrorPrefix(r.err, "VERSION"):
		return script.Vote{Answer: script.Refused, Err: script.ErrVersion}
	case IsReply(r.err):
		return script.Vote{Answer: script.Refused, Err: denied(r.err)}
	}
	return script.Vote{Answer: script.Unknown, Err: r.err}
}

// replyError is an error that an operation replied.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (replyError) RedisError() {}

// IsReply reports that err is the server's own answer: it did not do what it was asked. Any other
// error leaves open whether it did.
func IsReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Nobody is the asker of what nobody waits for.
type Nobody struct{}

// MaySend lets all requests leave.
func (Nobody) MaySend(int) bool { return true }

// Answer drops the answer.
func (Nobody) Answer(int, script.Vote) {}
