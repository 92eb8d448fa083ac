package redlock

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// asker puts a question to masters. Its methods are called by the masters'
// goroutines: they must not block.
type asker interface {
	// begin is called just before the request is written, for the first time. When
	// it returns false nobody wants it to be sent any more: it is dropped, and
	// answer is not called.
	begin(master int) bool

	// answer is called once for every request that began, and for those that
	// failed before.
	answer(master int, v script.Vote)
}

// request is one call to one master.
type request struct {
	order string // requests with the same one leave in the order in which they were queued
	call  script.Call
	to    asker

	// until is set on a request that must arrive: it is sent again until the master
	// has answered yes or "not yours", or this instant has passed.
	until clock.Instant

	// policy, if not nil, is asked before each sending.
	policy policy

	reply    int64 // what the call replied, or why there is no reply
	err      error
	sent     clock.Instant
	began    bool
	answered bool // the asker was told; what follows is only for until
	resent   bool
}

// policy decides about a request when it is to be sent. Its methods are called by the
// masters' goroutines: they must not block.
type policy interface {
	// obsolete reports that the request is of no use any more; answered tells whether
	// the asker has its answer.
	obsolete(master int, answered bool) bool

	// prepare returns the call to send, which is given or another in its place;
	// resent tells whether an earlier copy may be under way.
	prepare(master int, given script.Call, resent bool) script.Call
}

// obsolete reports that r is of no use any more.
func (r *request) obsolete(master int, now clock.Instant) bool {
	return r.until != 0 && now.After(r.until) || r.policy != nil && r.policy.obsolete(master, r.answered)
}

// begin reports whether r is still wanted, and stamps it.
func (r *request) begin(master int, now clock.Instant) bool {
	if r.obsolete(master, now) {
		return false
	}
	if !r.began {
		if !r.to.begin(master) {
			return false
		}
		r.began, r.sent = true, now
	}
	r.prepare(master)
	return true
}

// prepare makes the call ready to be sent, also once more.
func (r *request) prepare(master int) {
	if r.policy != nil {
		r.call = r.policy.prepare(master, r.call, r.resent)
	}
}

// read turns the reply into a vote.
func (r *request) read() script.Vote {
	switch {
	case r.err == nil:
		return r.call.Read(r.reply)
	case redis.HasErrorPrefix(r.err, "NOTADMITTED"):
		return script.Vote{Answer: script.Refused, Err: fmt.Errorf("%w: %s", script.ErrNotAdmitted, strings.TrimPrefix(r.err.Error(), "NOTADMITTED "))}
	case isReply(r.err):
		return script.Vote{Answer: script.Refused, Err: r.err}
	}
	return script.Vote{Answer: script.Unknown, Err: r.err}
}

// replyError is an error that an operation replied.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (replyError) RedisError() {}

// isReply reports that err is the server's own answer: it did not do what it
// was asked. Any other error leaves open whether it did.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
