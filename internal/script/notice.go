package script

import (
	"strconv"
	"strings"
)

// Notice is a message of a master on a client's channel. With Here, it answers a subscription, and
// shows that the master is Member. With an Owner, it is a vote: a release granted the lock to that
// owner. Any other notice is a call: the master keeps the lock for the client.
type Notice struct {
	Here    bool
	Member  string // the id of the member that sent it; "" in a call
	Owner   string
	Grant   int64
	LockKey string // "" with Here, and if the text is not a notice
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
	WithdrawingTicket = "~" // in an undo: only the owner's offer is removed
	FirstTicket       = "1" // before all others
)

// ReaderTicket returns the ticket of a reader: half a us after that of a writer.
func ReaderTicket(ticket string) string { return ticket + ".5" }
