package redlock

import (
	"time"

	"github.com/redlock-go/redlock/fence"
)

// Observer is told of what happens, for logs, metrics and traces. Every field
// may be nil. The functions are called synchronously, from any goroutine and
// from several at once: they must return soon and must not call the Client or a
// Lock.
type Observer struct {
	// Acquired: a fresh acquisition succeeded after took, with these votes.
	Acquired func(name string, token fence.Token, took time.Duration, votes []Vote)

	// Waiting: an attempt of Lock or Do failed with err, and another will be made.
	Waiting func(name string, err error)

	// Renewed: the watchdog or Extend moved the end of the lease, which is now
	// validFor away.
	Renewed func(name string, token fence.Token, validFor time.Duration)

	// Ended: a hold is over. cause is ErrReleased, ErrLost, ErrExpired or
	// ErrClosed, as context.Cause of the hold's context tells.
	Ended func(name string, token fence.Token, cause error)

	// ClockJumped: a master's clock went forward by so much (negative: back)
	// between two renewals. Its vote did not count in that round.
	ClockJumped func(master, name string, by time.Duration)

	// MasterDown: a master cannot be reached or may not vote; told once for every
	// run of failures.
	MasterDown func(master string, err error)

	// MasterUp: a master answered, for the first time or again.
	MasterUp func(master string)

	// VersionLearned: the client goes by this version of the table of members from now on.
	VersionLearned func(version int)

	// MemberChanged: the member at address has another state since the version before, or
	// a server with another id has its place; "" for one that is no member any more, or
	// was none. It comes before VersionLearned.
	MemberChanged func(address string, from, to MemberState)

	// NotAMember: a master may not vote in the deployment, and why: it is none of its
	// members, is new or suspended, or lost its data. Told once for each reason.
	NotAMember func(master string, err error)
}

// withDefaults fills in what is missing, so that no call has to ask; but for
// Acquired, whose caller asks in order not to make the votes for nobody.
func (o Observer) withDefaults() Observer {
	if o.Waiting == nil {
		o.Waiting = func(string, error) {}
	}
	if o.Renewed == nil {
		o.Renewed = func(string, fence.Token, time.Duration) {}
	}
	if o.Ended == nil {
		o.Ended = func(string, fence.Token, error) {}
	}
	if o.ClockJumped == nil {
		o.ClockJumped = func(string, string, time.Duration) {}
	}
	if o.MasterDown == nil {
		o.MasterDown = func(string, error) {}
	}
	if o.MasterUp == nil {
		o.MasterUp = func(string) {}
	}
	if o.VersionLearned == nil {
		o.VersionLearned = func(int) {}
	}
	if o.MemberChanged == nil {
		o.MemberChanged = func(string, MemberState, MemberState) {}
	}
	if o.NotAMember == nil {
		o.NotAMember = func(string, error) {}
	}
	return o
}
