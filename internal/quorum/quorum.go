package quorum

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// MaxMasters is the largest number of masters. A quorum of more masters is slower and no safer.
const MaxMasters = 31

// Verdict is the decision by the votes so far.
type Verdict uint8

// The verdicts.
const (
	Undecided Verdict = iota
	Won               // a quorum granted
	Lost              // a quorum is out of reach
)

// String returns the verdict in lower case.
func (v Verdict) String() string { return [...]string{"undecided", "won", "lost"}[v] }

// Majority is how many members decide (Need): more than half of all members in the table (Of).
// Members count even if they cannot be reached, or are not among the client's masters.
type Majority struct{ Need, Of int }

// MajorityOf returns the majority of a view's table.
func MajorityOf(v *membership.View) Majority {
	return Majority{v.Table.Quorum(), len(v.Table.Members)}
}

// Decide returns the verdict as soon as the pending votes cannot change it.
func Decide(votes []script.Vote, need int) Verdict {
	granted, pending := 0, 0
	for i := range votes {
		switch {
		case !votes[i].Answered:
			pending++
		case votes[i].Answer == script.Granted:
			granted++
		}
	}
	switch {
	case granted >= need:
		return Won
	case granted+pending < need:
		return Lost
	}
	return Undecided
}

// Granted returns the number of grants among the votes.
func Granted(votes []script.Vote) (n int) {
	for i := range votes {
		if votes[i].Answer == script.Granted {
			n++
		}
	}
	return n
}

// DecideHeld is Decide for a question about a lock that the asker may have. If a quorum is out of
// reach, it returns Undecided for as long as pending votes can decide whether the lock is lost.
func DecideHeld(votes []script.Vote, m Majority) Verdict {
	no, pending := denials(votes)
	if v := Decide(votes, m.Need); v != Lost || no > m.Of-m.Need || no+pending <= m.Of-m.Need {
		return v
	}
	return Undecided
}

// Disowned reports whether so many members answered "not yours" that the others are no quorum,
// whatever they answer.
func Disowned(votes []script.Vote, m Majority) bool {
	no, _ := denials(votes)
	return no > m.Of-m.Need
}

// denials returns the number of masters that answered "not yours", and the number of masters that
// have not answered yet.
func denials(votes []script.Vote) (no, pending int) {
	for i := range votes {
		switch {
		case !votes[i].Answered:
			pending++
		case votes[i].NotMine():
			no++
		}
	}
	return no, pending
}

// Contended reports whether the acquisition failed because of other holders: without them, a quorum of
// masters could have granted it. If the verdict came before all votes, pending votes count as able to
// grant. freeIn is the shortest time until a quorum can be free: the need-th smallest remaining time.
func Contended(votes []script.Vote, need int) (freeIn time.Duration, yes bool) {
	early := Decide(votes, need) == Lost
	left := make([]time.Duration, 0, len(votes))
	for i := range votes {
		switch v := &votes[i]; {
		case v.Answer == script.Held:
			left = append(left, v.Remaining)
		case v.Answer == script.Granted, early && !v.Answered:
			left = append(left, 0)
		}
	}
	if len(left) < need {
		return 0, false
	}
	slices.Sort(left)
	return left[need-1], true
}

// NthLargest returns the n-th largest value, or the zero value if there are fewer than n.
func NthLargest[T cmp.Ordered](values []T, n int) T {
	var scratch [MaxMasters]T
	if n > len(values) {
		return scratch[0]
	}
	sorted := scratch[:copy(scratch[:], values)]
	slices.Sort(sorted)
	return sorted[len(sorted)-n]
}
