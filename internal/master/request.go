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

// Asker receives the answers of masters. The masters' goroutines call the methods, and Submit and Replace
// may also call Answer. The methods must not block.
type Asker interface {
	// MaySend is called just before the request is written for the first time. If it returns false, the
	// request is dropped, and Answer is not called.
	MaySend(master int) bool

	// Answer is called once for every request that was sent, or that failed before it was sent.
	Answer(master int, v script.Vote)
}

// Request is one call to one master.
type Request struct {
	Order string // requests with the same Order are sent in the order in which they are in the queue
	Call  script.Call
	To    Asker

	// Version is a version of the table of members. The master runs the call only if it votes at this version. If
	// Version is "", it runs the call at any version.
	Version string

	// First makes the request leave before all requests without First. Otherwise the end of a hold would
	// wait behind the acquires of later calls. Set First only for an acquisition whose acquire this
	// master has answered: then this request need not wait for any other request in the queue.
	First bool

	// Until is set for a request that must arrive. The request is sent again until the master has
	// answered yes or "not yours", or this instant has passed.
	Until clock.Instant

	// Policy, if not nil, is called each time before the request is sent.
	Policy Policy

	// The state: see doc.go. After each failure, a request with Until returns to the queue.
	waits    bool          // queued or blocked, but not for a retry: Replace can replace the request
	hurries  bool          // its call of Submit began with a request with First
	instead  *Request      // the request that took this request's place in the queue; nil: no request did
	began    bool          // the request was sent at least once
	sent     clock.Instant // when the request was sent first; 0 before that
	resent   bool          // the batch was sent twice after a break: the first copy may be executed later; never reset
	answered bool          // the asker has the answer, and gets no answer to a retry
	reply    int64         // what the call replied last, after it was sent
	err      error         // why there is no reply, after the request was sent; nil: there is a reply
}

// Policy decides about a request each time before it is sent. The masters' goroutines call the methods,
// which must not block.
type Policy interface {
	// Obsolete reports whether the request is no longer needed. answered is true if Answer was called.
	Obsolete(master int, answered bool) bool

	// Prepare returns the call to send: the given call, or another. resent is true if an earlier copy
	// may still be under way.
	Prepare(master int, given script.Call, resent bool) script.Call
}

// newest returns the request to send in r's place: r, or the last request that replaced it.
func (r *Request) newest() *Request {
	for r.instead != nil {
		r = r.instead
	}
	return r
}

func (r *Request) obsolete(master int, now clock.Instant) bool {
	return r.Until != 0 && now.After(r.Until) || r.Policy != nil && r.Policy.Obsolete(master, r.answered)
}

// begin prepares the request, and reports whether to send it. Before the first sending, begin calls
// MaySend, and records the time.
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

// prepare lets the policy choose the call before each sending.
func (r *Request) prepare(master int) {
	if r.Policy != nil {
		r.Call = r.Policy.Prepare(master, r.Call, r.resent)
	}
}

// read converts the reply into a vote.
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

// replyError is the error reply of an operation.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (replyError) RedisError() {}

// IsReply reports whether err is a reply of the server, which refused the request. After any other
// error, the request may have been executed or not.
func IsReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Nobody is an Asker that drops all answers.
type Nobody struct{}

// MaySend returns true.
func (Nobody) MaySend(int) bool { return true }

// Answer drops the answer.
func (Nobody) Answer(int, script.Vote) {}
