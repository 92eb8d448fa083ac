package script

import (
	"strconv"
	"strings"
)

// Notice is a message from a master on a client's channel. If Here is true, the notice shows which
// member the subscription leads to. If Owner is set, the notice is a vote: a release granted the lock to
// this owner. Any other notice is a call: the master keeps the lock for the client.
type Notice struct {
	Here    bool
	Member  string // the id of the member that sent it; "" in a call
	Owner   string
	Grant   int64
	LockKey string // "" if Here is true, or if the text is not a notice
}

// ParseNotice parses a message.
func ParseNotice(text string) Notice {
	if member, is := strings.CutPrefix(text, "here "); is {
		return Notice{Here: true, Member: member}
	}
	grant, is := strings.CutPrefix(text, "given ")
	if !is {
		return Notice{LockKey: text}
	}
	words := strings.SplitN(grant, " ", 4)
	if len(words) != 4 {
		return Notice{}
	}
	number, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || words[0] == "" || words[1] == "" || number < 1 || number > MaxCounter {
		return Notice{}
	}
	return Notice{Member: words[0], Owner: words[1], Grant: number, LockKey: words[3]}
}

// Special values of the argument ticket.
const (
	LeavingTicket     = "-" // in an undo: the client leaves the queue
	WithdrawingTicket = "~" // in an undo: the client stays in the queue, and only its offer is removed
	FirstTicket       = "1" // before all other tickets
)

// ReaderTicket returns a reader's ticket for the time of the given writer's ticket: half a us later.
func ReaderTicket(ticket string) string { return ticket + ".5" }
