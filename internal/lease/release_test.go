package lease

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Which answers to a release mean that the name is free there.
func TestFreed(t *testing.T) {
	freed, nobodys, anothers := script.Release.Read(1), script.Release.Read(0), script.Release.Read(-1)
	for _, x := range []struct {
		claim   string
		granted bool
		mute    string
		answer  script.Vote
		doubt   bool
		want    bool
	}{
		{"freed", true, "", freed, false, true},
		{"freed, where the acquire's answer was lost", false, "", freed, false, true},
		{"it was there and is not: lost", true, "", nobodys, false, false},
		{"it was there and is another's: lost", true, "", anothers, false, false},
		{"the first copy freed it", true, "", nobodys, true, true},
		{"the first copy freed it, and another came", true, "", anothers, true, true},
		{"it never was there, and nobody is", false, "", nobodys, false, true},
		{"it never was there, and nobody is, and it may not vote", false, "2", nobodys, false, false},
		{"it never was there, and nobody is, and it votes again", false, "1", nobodys, false, true},
		{"it is there, of a master that had no vote before", true, "2", freed, false, true},
		{"it never was there, and another is", false, "", anothers, false, false},
		{"it never was there, and another is, says the second copy", false, "", anothers, true, false},
		{"no answer", true, "", script.Vote{Answer: script.Unknown, Err: quorum.ErrNoAnswer}, true, false},
		{"not reached, where it never was", false, "", script.Vote{Answer: script.Refused, Err: quorum.ErrNotSent}, false, false},
	} {
		h := holdOf(3)
		h.lease.Masters[0] = Master{Answered: true, Granted: x.granted, NonVotingAt: x.mute}
		x.answer.Answered, x.answer.MayArrive = true, x.doubt
		if got := h.freed(0, x.answer, "2").Answer == script.Granted; got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
}

// What counts of an answer to a release: also where the last handle was faster, whose release says
// for all that the name is free.
func TestWhatCountsOfAnAnswerToARelease(t *testing.T) {
	t.Parallel()
	nobodys := script.Release.Read(0)
	nobodys.Answered = true
	for _, x := range []struct {
		claim   string
		granted bool // the master had it
		exits   bool // entries were left
		ended   error
		want    script.Answer
	}{
		{"it never was there", false, false, ErrReleased, script.Granted},
		{"it was there, and is lost", true, false, ErrReleased, script.Refused},
		{"an entry ends, and the lock is lost", true, true, nil, script.Refused},
		{"an entry ends, and the last one was faster", true, true, ErrReleased, script.Granted},
		{"an entry ends, and the hold was lost", true, true, ErrLost, script.Refused},
	} {
		h := holdOf(3)
		h.lease.Masters[0] = Master{Answered: true, Granted: x.granted}
		h.over.cause = x.ended
		h.over.is.Store(x.ended != nil)
		r := &release{asker: asker{hold: h}}
		if x.exits {
			r.want.aim = toLeave
		} else {
			r.want.aim = toFree
		}
		r.Init(h.holds.View())
		if got := r.Weigh(0, nobodys); got.Answer != x.want || (got.Err == nil) != (x.want == script.Granted) {
			t.Errorf("%s: %v (%v), want %v", x.claim, got.Answer, got.Err, x.want)
		}
	}
}

// What the masters are asked when entries are left, when none is, and when the next caller of the
// client is called.
func TestWhatAReleaseAsksFor(t *testing.T) {
	t.Parallel()
	channel := "channel"
	for _, x := range []struct {
		claim string
		left  int
		next  Next
		reads bool
		taken time.Duration
		want  *script.Operation
	}{
		{"entries are left", 1, Next{}, false, 0, script.Exit},
		{"entries are left, and the name is to stay taken", 1, Next{}, false, time.Minute, script.Exit},
		{"none is", 0, Next{}, false, 0, script.Release},
		{"none is, of a reader", 0, Next{}, true, 0, script.Undo},
		{"the next caller is called", 0, Next{Keep: &channel}, false, 0, script.Pass},
		{"the name stays taken", 0, Next{}, false, time.Minute, script.Linger},
	} {
		h := holdOf(3)
		h.Reads.Store(x.reads)
		h.taken = x.taken
		for i := range h.lease.Masters {
			h.lease.Masters[i] = Master{Answered: true, Granted: true}
		}
		r := h.release(x.left, x.next)
		if weighed := r.Weigher != nil; !r.Held || weighed != (x.want != script.Linger) { // what lingers counts as it is
			t.Errorf("%s: of a lock that the asker may have: %v; its answers are weighed: %v", x.claim, r.Held, weighed)
		}
		for i := range r.Asked {
			call := r.Asked[i].Call
			if p := r.Asked[i].Policy; p != nil {
				call = p.Prepare(i, call, false)
			}
			if call.Operation != x.want {
				t.Errorf("%s: master %d gets %s, want %s", x.claim, i, call.Name, x.want.Name)
			}
			if arrives := r.Asked[i].Until != 0; arrives != (x.left == 0) {
				t.Errorf("%s: it is sent until it arrives: %v", x.claim, arrives)
			}
		}
	}
}
