package redlock

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Answer is a master's answer to one question.
type Answer uint8

// The answers.
const (
	Unknown = Answer(script.Unknown) // no answer: the master may have done it or not
	Granted = Answer(script.Granted) // yes
	Held    = Answer(script.Held)    // no: the name is taken there
	Refused = Answer(script.Refused) // no: the master did not do it; Vote.Err has the reason
)

// String returns the answer in lower case.
func (a Answer) String() string {
	return script.Answer(a).String()
}

// Vote is the answer of one master, for logs; see Answer.
type Vote struct {
	Master    string // its address
	Answer    Answer
	Grant     uint64        // the grant number, if an acquisition was Granted
	Remaining time.Duration // if Held: the time until the name is free there, to the millisecond; 0: not known
	Err       error         // if Unknown or Refused: the reason; its text is printable, whatever the master wrote
}

// String returns the vote as errors print it.
func (v Vote) String() string {
	switch {
	case v.Answer == Held && v.Remaining > 0:
		return fmt.Sprintf("%s held, lease ends in %v", v.Master, printable.Duration(v.Remaining))
	case v.Err != nil:
		return fmt.Sprintf("%s %v: %v", v.Master, v.Answer, v.Err)
	}
	return fmt.Sprintf("%s %v", v.Master, v.Answer)
}

// QuorumError describes why masters did not agree to something. errors.Is finds Reason, the
// masters' own errors and, for an acquisition or a re-entry, ErrNotAcquired.
type QuorumError struct {
	Op     string // "acquire", "re-enter", "extend", "downgrade", "release", "force unlock", "verify", "inspect", "list the names", "learn the members" or "be ready"
	Name   string // of the lock; "" if the error is not about a lock
	Reason error  // ErrHeld, ErrNoQuorum, ErrTooSlow or ErrLost; or why the caller returned before the masters had decided: its context's error and cause, or ErrClosed
	Need   int    // masters that had to agree
	Votes  []Vote // one for each master, in the order in which the masters were given; empty if none was asked

	// Lacks has the addresses of the members that are not among the client's masters.
	Lacks []string

	// undecided: the caller returned before the masters had decided. Votes is only for logs then.
	undecided bool

	// FreeIn is set when others hold the name: the shortest time until a quorum of masters can be
	// free, if nobody releases or renews the name before then. Zero: not known.
	FreeIn time.Duration

	// Holder describes the holders, for logs: another caller of this client, or, after the call had
	// waited for a while, the process that a master named. "": not known.
	Holder string
}

// Error names the lock, the reason and every vote.
func (e *QuorumError) Error() string {
	var b strings.Builder
	reason := e.Reason
	if e.undecided {
		reason = printable.Because(ErrNotAcquired, reason)
	}
	fmt.Fprintf(&b, "%v (%s", reason, e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	if e.FreeIn > 0 {
		fmt.Fprintf(&b, ", lease ends in %v unless renewed or released", printable.Duration(e.FreeIn))
	}
	if e.Holder != "" {
		fmt.Fprintf(&b, ", %s", e.Holder)
	}
	switch n := len(e.Votes); {
	case n == 0:
	case n < e.Need:
		fmt.Fprintf(&b, ", need %d masters, given %d", e.Need, n)
	default:
		fmt.Fprintf(&b, ", need %d of %d", e.Need, n)
	}
	for i, v := range e.Votes {
		b.WriteString([]string{": ", "; "}[min(i, 1)] + v.String())
	}
	if len(e.Lacks) > 0 {
		fmt.Fprintf(&b, "; members that the client's masters lack: %s", strings.Join(e.Lacks, ", "))
	}
	b.WriteByte(')')
	return b.String()
}

// Unwrap returns the reason, ErrNotAcquired for an acquisition or a re-entry, and the masters'
// errors unless the caller returned before the masters had decided.
func (e *QuorumError) Unwrap() []error {
	f := ask.Failure{Op: e.Op, Reason: e.Reason, Undecided: e.undecided}
	for _, v := range e.Votes {
		f.Votes = append(f.Votes, script.Vote{Err: v.Err})
	}
	return f.Unwrap()
}

// public converts the errors of internal packages into exported ones.
func (c *Client) public(err error) error {
	return printable.Map(err, func(err error) error {
		f, ok := err.(*ask.Failure)
		if !ok {
			return err
		}
		return &QuorumError{Op: f.Op, Name: f.Name, Reason: f.Reason, Need: f.Need, Votes: c.publish(f.Votes), Lacks: f.Lacks, FreeIn: f.FreeIn, Holder: f.Holder, undecided: f.Undecided}
	})
}

func (c *Client) publish(votes []script.Vote) []Vote {
	public := make([]Vote, len(votes))
	for i, v := range votes {
		public[i] = Vote{Master: c.masters[i].Name, Answer: Answer(v.Answer), Grant: uint64(v.Grant), Remaining: v.Remaining, Err: printable.Error(v.Err)}
	}
	return public
}
