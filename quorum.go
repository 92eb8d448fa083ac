package redlock

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// Answer is what one master said to one question.
type Answer uint8

// The answers. No answer is Unknown, not a no: the master may have done what
// it was asked.
const (
	Unknown = Answer(script.Unknown) // no answer: it may have been done or not
	Granted = Answer(script.Granted) // yes
	Held    = Answer(script.Held)    // no: another owner holds the lock there
	Refused = Answer(script.Refused) // no: the master did not do it, Vote.Err says why
)

// String returns the answer in lower case.
func (a Answer) String() string {
	return script.Answer(a).String()
}

// verdict is what the votes so far decide.
type verdict uint8

const (
	undecided verdict = iota
	won               // a quorum granted
	lost              // a quorum is out of reach
)

// quorum is how many members decide: more than half of all that the table has, whatever
// number of them can be reached, or is among the client's masters.
type quorum struct{ need, of int }

// decide tells what the votes decide as soon as it is certain, whatever the
// pending ones will be.
func decide(votes []script.Vote, need int) verdict {
	granted, pending := 0, 0
	for i := range votes {
		switch {
		case !votes[i].Heard:
			pending++
		case votes[i].Answer == script.Granted:
			granted++
		}
	}
	switch {
	case granted >= need:
		return won
	case granted+pending < need:
		return lost
	}
	return undecided
}

// decideHeld is decide for a question about a lock that the asker may have: a quorum that is out
// of reach does not decide it as long as the pending votes may disown the lock.
func decideHeld(votes []script.Vote, q quorum) verdict {
	no, pending := denials(votes)
	if v := decide(votes, q.need); v != lost || no > q.of-q.need || no+pending <= q.of-q.need {
		return v
	}
	return undecided
}

// disowned reports that so many members said "not yours" that the others are
// no quorum, whatever they say.
func disowned(votes []script.Vote, q quorum) bool {
	no, _ := denials(votes)
	return no > q.of-q.need
}

// denials counts the masters that said "not yours", and those that were not heard yet.
func denials(votes []script.Vote) (no, pending int) {
	for i := range votes {
		switch {
		case !votes[i].Heard:
			pending++
		case votes[i].NotMine():
			no++
		}
	}
	return no, pending
}

// contended reports that a failed acquisition failed for others' holds: without
// them a quorum of masters could have granted. A verdict that fell early counts
// those that were not heard by then among them. freeIn is how long it takes, at the
// least, until a quorum can be free: the need-th smallest remaining time.
func contended(votes []script.Vote, need int) (freeIn time.Duration, yes bool) {
	early := decide(votes, need) == lost
	left := make([]time.Duration, 0, len(votes))
	for i := range votes {
		switch v := &votes[i]; {
		case v.Answer == script.Held:
			left = append(left, v.Remaining)
		case v.Answer == script.Granted, early && !v.Heard:
			left = append(left, 0)
		}
	}
	if len(left) < need {
		return 0, false
	}
	slices.Sort(left)
	return left[need-1], true
}

// quorumth returns the need-th largest value: at least need of them are no
// smaller. It is the zero value if there are fewer.
func quorumth[T cmp.Ordered](values []T, need int) T {
	var scratch [maxMasters]T
	if need > len(values) {
		return scratch[0]
	}
	sorted := scratch[:copy(scratch[:], values)]
	slices.Sort(sorted)
	return sorted[len(sorted)-need]
}
