package faultproxy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Action is what a rule does to a request or to its reply. It is its own printed form. The zero
// value does nothing but count.
type Action string

const (
	// Pass does nothing: the rule only counts, and tells when the request was there and when it was
	// answered.
	Pass Action = "pass"

	// DropRequest loses the request, and with it all later ones of the connection: the client sees
	// silence.
	DropRequest Action = "drop request"

	// HoldRequest keeps the request from the master until Release. Later ones of the connection
	// wait behind it.
	HoldRequest Action = "hold request"

	// DuplicateRequest sends the request twice. The second reply is swallowed.
	DuplicateRequest Action = "duplicate request"

	// CutBeforeRequest resets the client's connection and loses the request.
	CutBeforeRequest Action = "cut before request"

	// CutAfterRequest sends the whole request on and resets the client's connection before the
	// reply.
	CutAfterRequest Action = "cut after request"

	// DropReply loses the reply, and with it all later ones of the connection: the client sees
	// silence, while its requests still reach the master.
	DropReply Action = "drop reply"

	// HoldReply keeps the reply from the client until Release. Later ones of the connection wait
	// behind it.
	HoldReply Action = "hold reply"
)

// CutRequestAt sends the first n bytes of the request on and resets the client's connection. With n
// beyond its length it is CutAfterRequest. A negative n counts as 0.
func CutRequestAt(n int) Action { return Action(fmt.Sprintf("%s %d", cutRequestAt, max(n, 0))) }

// CutReplyAt delivers the first n bytes of the reply and resets the client's connection. A negative
// n counts as 0.
func CutReplyAt(n int) Action { return Action(fmt.Sprintf("%s %d", cutReplyAt, max(n, 0))) }

// CopyRequest sends the request, and d later a copy of it, on a connection of its own: what was
// sent in between was there before it. The reply to the copy is swallowed.
func CopyRequest(d time.Duration) Action { return Action(fmt.Sprintf("%s %s", copyRequest, d)) }

// Actions with a number are these words followed by it.
const (
	cutRequestAt Action = "cut request at"
	cutReplyAt   Action = "cut reply at"
	copyRequest  Action = "copy request"
)

// step is a decoded action: one of the constants above, and its number.
type step struct {
	do    Action
	bytes int
	wait  time.Duration
}

// onReply reports whether the step acts on the reply and not on the request.
func (s step) onReply() bool {
	switch s.do {
	case DropReply, HoldReply, cutReplyAt:
		return true
	default:
		return false
	}
}

func (a Action) decode() (step, error) {
	switch a {
	case "":
		return step{do: Pass}, nil
	case Pass, DropRequest, HoldRequest, DuplicateRequest, CutBeforeRequest, CutAfterRequest, DropReply, HoldReply:
		return step{do: a}, nil
	}
	for _, do := range []Action{cutRequestAt, cutReplyAt} {
		if number, ok := strings.CutPrefix(string(a), string(do)+" "); ok {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 {
				return step{}, fmt.Errorf("faultproxy: action %q: a number of bytes was expected", a)
			}
			return step{do: do, bytes: n}, nil
		}
	}
	if number, ok := strings.CutPrefix(string(a), string(copyRequest)+" "); ok {
		d, err := time.ParseDuration(number)
		if err != nil {
			return step{}, fmt.Errorf("faultproxy: action %q: %w", a, err)
		}
		return step{do: copyRequest, wait: d}, nil
	}
	return step{}, fmt.Errorf("faultproxy: there is no action %q", a)
}
