package quorum

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// roundOf returns a round with these votes (see testvotes.Of). Two letters are new: v is the vote
// of a master at another version, and o is the vote of a non-member.
func roundOf(votes string) *Round {
	view := testvotes.ViewOfAll(len(votes))
	r := NewRound(view)
	plain := []rune(votes)
	for i, c := range plain {
		switch c {
		case 'o':
			view.Out[i] = script.ErrNotMember
		case 'v', 'l':
			plain[i] = 'r'
		}
	}
	for i, v := range testvotes.Of(string(plain)) {
		switch votes[i] {
		case 'v':
			v.Err = script.ErrVersion
		case 'l':
			v.Err = InNextRound("repaired")
		case 'o':
			v = script.Vote{Answered: true, Answer: script.Refused}
		}
		if v.Answered {
			r.Answer(i, v)
		}
	}
	return r
}

func TestRoundFailed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim, votes string
		failed       []int
		goesOn       bool
	}{
		{"nobody has answered", "...", nil, true},
		{"a grant is no failure", "g....", nil, true},
		{"no answer is one", "gu...", []int{1}, true},
		{"a refusal is one", "gr...", []int{1}, true},
		{"a vote at another version is one", "gv...", []int{1}, true},
		{"a non-member is not asked", "go...", nil, true},
		{"a quorum granted", "gggu.", []int{3}, false},
		{"none is left", "uuu..", []int{0, 1, 2}, false},
		{"one is not mine", "gnu..", nil, false},
		{"another has it", "ghu..", nil, false},
		{"a vote counts in the next round", "glu..", nil, false},
	} {
		failed, goesOn := roundOf(x.votes).Failed()
		if !slices.Equal(failed, x.failed) || goesOn != x.goesOn {
			t.Errorf("%s: %q: %v have failed (%v), want %v (%v)", x.claim, x.votes, failed, goesOn, x.failed, x.goesOn)
		}
	}
}

// A failed master is asked again, and then its vote is pending. No other master is asked, and no vote is revoked.
func TestRoundAskAgain(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim, votes string // whether the second master is asked again
		asked        bool
	}{
		{"it gave no answer", "gu...", true},
		{"it refused", "gr...", true},
		{"it has granted by now", "gg...", false},
		{"it has not answered yet", "g....", false},
		{"the lock is not ours there", "gn...", false},
		{"its vote counts in the next round", "gl...", false},
		{"there is a quorum", "gugg.", false},
		{"there can be none", "uuu..", false},
	} {
		var masters []*master.Master // these masters only queue their requests
		for i := range x.votes {
			masters = append(masters, master.New(master.Config{Index: i, Endpoint: master.NewEndpoint(new(redis.Options), time.Second), Now: func() clock.Instant { return 0 }}))
		}
		r := roundOf(x.votes)
		r.Requests(len(masters))
		before := r.Votes()
		for range 2 { // the second call must not ask the master again
			r.AskAgain(masters, 1)
		}
		want := 0
		if x.asked {
			want, before[1] = 1, script.Vote{Err: ErrNoAnswer}
		}
		if asked, after := masters[1].Pending(), r.Votes(); asked != want || !slices.Equal(after, before) {
			t.Errorf("%s: %q: it is asked %d times, want %d; the votes are %v, want %v", x.claim, x.votes, asked, want, after, before)
		}
		if other := r.last(1) != &r.Asked[1]; other != x.asked {
			t.Errorf("%s: the last request is another one: %v", x.claim, other)
		}
	}
}

func TestRoundOutdated(t *testing.T) {
	t.Parallel()
	if got, want := roundOf("gvo.r").Outdated(), []bool{false, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What an answer counts for, and which callbacks it triggers.
func TestRoundAnswer(t *testing.T) {
	t.Parallel()
	verdicts, failures := []Verdict{}, 0
	r := NewRound(testvotes.ViewOfAll(5))
	r.View.Out[4] = script.ErrNotMember
	r.OnVerdict = func(is Verdict) { verdicts = append(verdicts, is) }
	r.OnFailure = func() { failures++ }
	r.Weigher = WeighFunc(func(i int, v script.Vote) script.Vote {
		if i == 1 {
			return script.Vote{Answered: true, Answer: script.Refused}
		}
		return v
	})
	decided := make(chan struct{}, 1)
	r.Notify(decided)
	closed := func() bool {
		select {
		case <-decided:
			return true
		default:
			return false
		}
	}
	grant := script.Vote{Answered: true, Answer: script.Granted, Grant: 7}
	step := func(i int, v script.Vote, counts script.Answer, notifies bool, fails int, is ...Verdict) {
		t.Helper()
		r.Answer(i, v)
		if got := r.Votes()[i].Answer; got != counts {
			t.Errorf("the vote of master %d counts as %v, want %v", i, got, counts)
		}
		if got := closed(); got != notifies {
			t.Errorf("after that of master %d the asker is notified: %v", i, got)
		}
		if failures != fails || !slices.Equal(verdicts, is) {
			t.Errorf("after that of master %d: %d failures and %v, want %d and %v", i, failures, verdicts, fails, is)
		}
	}
	step(0, grant, script.Granted, false, 0)
	step(1, grant, script.Refused, false, 1) // by the weigher's decision
	doubtful := grant
	doubtful.MayArrive = true
	step(4, doubtful, script.Refused, true, 2) // the master has no vote, and the asker may have a newer view by now
	if v := r.Votes()[4]; !v.MayArrive || v.Err != script.ErrNotMember {
		t.Errorf("of a master without a vote: %+v", v)
	}
	step(2, grant, script.Granted, false, 2)
	step(3, grant, script.Granted, true, 2, Won)
	step(1, script.Vote{Answered: true, Answer: script.Unknown}, script.Refused, true, 2, Won) // a verdict does not change
	if !r.Won() || !r.Decided() {
		t.Error("it is not won")
	}
}

// A queued round is won by notices, which may repeat and may overtake answers.
func TestRoundInQueue(t *testing.T) {
	t.Parallel()
	held := script.Vote{Answered: true, Answer: script.Held}
	given := func(grant int64) script.Vote {
		return script.Vote{Answered: true, Answer: script.Granted, Given: true, Grant: grant}
	}
	r := NewRound(testvotes.ViewOfAll(5))
	for i := range 3 {
		r.Answer(i, held)
	}
	if !r.Decided() || r.Won() {
		t.Fatal("three of five answer held, and it is not lost")
	}
	if !r.Queue(func(_ int, v script.Vote) script.Vote { return v }) || r.Decided() {
		t.Fatal("it is queued, and decided")
	}
	r.Answer(0, given(7))
	r.Answer(0, given(7))
	r.Answer(4, given(8))
	twice := held
	twice.MayArrive = true
	r.Answer(4, twice)
	if v := r.Votes()[4]; v.Answer != script.Granted || v.Grant != 8 || !v.MayArrive {
		t.Errorf("the answer after the notice makes it %+v", v)
	}
	r.Answer(3, held)
	if r.Decided() {
		t.Fatal("two of five granted, and it is decided")
	}
	r.Replace(4, script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine})
	r.Answer(4, given(8))
	r.Answer(1, given(7))
	if r.Won() {
		t.Error("a notice that comes again counts, though the grant was found to be gone")
	}
	r.Answer(2, given(7))
	if !r.Won() {
		t.Error("three of five granted, and it is not won")
	}
	r.Resume()
	if !r.Won() || r.Grants() != 3 {
		t.Errorf("it is won (%v) by %d grants, want 3", r.Won(), r.Grants())
	}

	r = NewRound(testvotes.ViewOfAll(5))
	for i := range 3 {
		r.Answer(i, held)
	}
	r.Answer(3, script.Vote{Answered: true, Answer: script.Granted, Grant: 7})
	if r.Queue(nil) || !r.Decided() {
		t.Error("it is queued, though a master has granted what it was asked for")
	}
}

// A request is sent only while neither the round nor its During is over. Otherwise it is answered.
// A vote that arrives while the attempt ends is weighed by what ends the attempt: it may have to be undone.
func TestRoundReplacedWeigher(t *testing.T) {
	t.Parallel()
	undone := 0
	undo := func(int, script.Vote) script.Vote {
		undone++
		return script.Vote{Answered: true, Answer: script.Refused}
	}
	for _, x := range []struct {
		name    string
		replace func(r *Round)
	}{
		{"Receive", func(r *Round) { r.Receive(true, undo) }},
		{"Queue", func(r *Round) { r.Queue(undo) }},
	} {
		r := roundOf("rr.")
		r.Weigher = WeighFunc(func(_ int, v script.Vote) script.Vote {
			x.replace(r)
			undone = 0 // Receive also weighs the votes so far
			return v
		})
		r.Answer(2, script.Vote{Answered: true, Answer: script.Granted})
		if undone != 1 || r.Grants() != 0 {
			t.Errorf("%s: undone %d times, %d grants, want 1 and 0", x.name, undone, r.Grants())
		}
	}
}

func TestRoundMaySend(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		during error
		change func(*Round)
		leaves bool
	}{
		{"nothing is over", nil, func(*Round) {}, true},
		{"the hold is", errors.New("over"), func(*Round) {}, false},
		{"the round is abandoned", nil, (*Round).Abandon, false},
		{"the receiver wants what has left", nil, func(r *Round) { r.Receive(false, func(_ int, v script.Vote) script.Vote { return v }) }, true},
		{"the receiver wants no more", nil, func(r *Round) { r.Receive(true, func(_ int, v script.Vote) script.Vote { return v }) }, false},
	} {
		r := NewRound(testvotes.ViewOfAll(3))
		r.During = lasts{x.during}
		x.change(r)
		leaves := r.MaySend(1)
		v := r.Votes()[1]
		if leaves != x.leaves || v.Answered == leaves || !leaves && v.Err != ErrNotSent {
			t.Errorf("%s: it leaves: %v, want %v; its vote: %+v", x.claim, leaves, x.leaves, v)
		}
	}
	if r := NewRound(testvotes.ViewOfAll(3)); !r.MaySend(0) {
		t.Error("nothing is over, and it does not leave")
	}
}

type lasts struct{ err error }

func (l lasts) Over() error { return l.err }
