package quorum

import (
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// Tally has the votes on one question, and the rule that decides it. It has no lock: a Round guards
// its Tally.
type Tally struct {
	// Votes count only at the version of this view, and only from its voting members.
	View *membership.View
	Majority

	// Held is set if the asker may have the lock. Then the verdict Lost also waits until it is
	// certain whether the votes disown the lock (Disowned).
	Held bool

	// Otherwise, if not nil, decides the question once no quorum is possible.
	Otherwise Decider

	votes  []script.Vote // by master; the zero vote is pending
	grants int           // after Reopen: how many grants are needed, if more than a quorum; else 0
	queued bool          // from Queue to Resume: the masters that refused may still grant, by a release
}

// Decider decides a question when no quorum can. Its method is called with the mutex of the round
// held, and may be called before all masters have voted.
type Decider interface {
	Decide() Verdict
}

// Verdict returns the decision by the votes so far.
func (t *Tally) Verdict() Verdict {
	is := Undecided
	if t.Held {
		is = DecideHeld(t.votes, t.Majority)
	} else {
		is = Decide(t.votes, max(t.Need, t.grants))
	}
	switch {
	case is == Lost && t.queued:
		return Undecided
	case is == Lost && t.Otherwise != nil:
		return t.Otherwise.Decide()
	}
	return is
}

// add adds the vote of a master, and returns the vote that counts.
func (t *Tally) add(master int, v script.Vote) script.Vote {
	if out := t.View.Out[master]; out != nil {
		v = script.Vote{Answered: true, Answer: script.Refused, Err: out, MayArrive: v.MayArrive}
	}
	t.votes[master] = merged(t.votes[master], v)
	return t.votes[master]
}

// merged returns the vote that counts for a master that may have voted before. The master's answer,
// and the notice of a grant by a release, may arrive in any order, and more than once. A grant
// overrides the answers that the master gave before it.
func merged(before, v script.Vote) script.Vote {
	switch {
	case !before.Given && !v.Given:
		return v
	case before.Answer == script.Granted, before.Err == script.ErrNotMine: // or the master's grant is gone
		before.MayArrive = before.MayArrive || v.MayArrive
		return before
	}
	v.MayArrive = v.MayArrive || before.MayArrive
	return v
}

// failed reports whether a master refused, or its request failed, but may grant if it is asked
// again. elsewhere is true if the master's vote can count only in another round.
func (t *Tally) failed(master int) (failed, elsewhere bool) {
	switch v := &t.votes[master]; {
	case !v.Answered, v.Answer == script.Granted, t.View.Out[master] != nil:
		return false, false
	case v.NotMine():
		return false, true
	default:
		_, elsewhere = v.Err.(InNextRound)
		return !elsewhere, elsewhere
	}
}
