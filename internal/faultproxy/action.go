package faultproxy

import (
	"fmt"
	"time"
)

// Action is what a rule does to a request or to its reply. With the zero value (Pass), the rule only counts.
type Action struct {
	do    verb
	bytes int           // how many pass before a cut
	wait  time.Duration // before a copy is sent
}

type verb string

var (
	// Pass changes nothing: the rule only counts, and its Fault shows when a request came (Seen) and was answered
	// (Answered).
	Pass = Action{}

	// DropRequest loses the request, and with it all later requests of the connection: the client gets
	// no answers.
	DropRequest = Action{do: dropRequest}

	// HoldRequest keeps the request from the master until Release. Later requests of the connection
	// wait behind it.
	HoldRequest = Action{do: holdRequest}

	// DuplicateRequest sends the request twice. The second reply is dropped.
	DuplicateRequest = Action{do: duplicateRequest}

	// CutBeforeRequest resets the client's connection and loses the request.
	CutBeforeRequest = Action{do: cutBeforeRequest}

	// CutAfterRequest sends the whole request on and resets the client's connection before the
	// reply.
	CutAfterRequest = Action{do: cutAfterRequest}

	// DropReply loses the reply, and with it all later replies of the connection: the client gets
	// no answers, while its requests still reach the master.
	DropReply = Action{do: dropReply}

	// HoldReply keeps the reply from the client until Release. Later replies of the connection wait
	// behind it.
	HoldReply = Action{do: holdReply}
)

const (
	pass             verb = ""
	dropRequest      verb = "drop request"
	holdRequest      verb = "hold request"
	duplicateRequest verb = "duplicate request"
	copyRequest      verb = "copy request"
	cutBeforeRequest verb = "cut before request"
	cutAfterRequest  verb = "cut after request"
	cutRequestAt     verb = "cut request at"
	cutReplyAt       verb = "cut reply at"
	dropReply        verb = "drop reply"
	holdReply        verb = "hold reply"
)

// CutRequestAt sends the first n bytes of the request on and resets the client's connection. If n
// is beyond the length of the request, it acts as CutAfterRequest.
func CutRequestAt(n int) Action { return Action{do: cutRequestAt, bytes: n} }

// CutReplyAt delivers the first n bytes of the reply and resets the client's connection.
func CutReplyAt(n int) Action { return Action{do: cutReplyAt, bytes: n} }

// CopyRequest sends the request and, after d, a copy of it on a new connection. So the copy arrives after requests that
// were sent in the meantime. The reply to the copy is dropped.
func CopyRequest(d time.Duration) Action { return Action{do: copyRequest, wait: d} }

// onReply reports whether the action is on the reply instead of the request.
func (a Action) onReply() bool { return a.do == dropReply || a.do == holdReply || a.do == cutReplyAt }

// String returns the action as a text, for the name of a test.
func (a Action) String() string {
	switch a.do {
	case pass:
		return "pass"
	case cutRequestAt, cutReplyAt:
		return fmt.Sprintf("%s %d", a.do, a.bytes)
	}
	return string(a.do)
}
