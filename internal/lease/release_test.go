package lease

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// A row of testdata/freed is the state of a master (see known), and its answer to a release (see
// replied). The output is the vote that counts in the round, and whether the hold is
// freed there.
func TestFreed(t *testing.T) {
	t.Parallel()
	causes := map[string]error{"released": ErrReleased, "lost": ErrLost}
	datadriven.RunTest(t, "testdata/freed", func(t *testing.T, d *datadriven.TestData) string {
		var all strings.Builder
		for row := range strings.Lines(d.Input) {
			state, answer, _ := strings.Cut(strings.TrimSpace(row), ": ")
			h := holdOf(3)
			h.lease.Masters[0] = known(t, state, 0)
			var over string
			if d.HasArg("over") {
				d.ScanArgs(t, "over", &over)
			}
			h.over.cause = causes[over]
			h.over.is.Store(over != "")
			r := &release{asker: asker{hold: h, want: want{aim: toFree}}, states: []releaseState{{granted: h.lease.Masters[0].Granted}}}
			r.Init(testvotes.ViewOfAll(3))
			if strings.Contains(state, "non-voting") {
				h.lease.Masters[0].NonVotingAt = r.View.Version
			}
			v := replied(t, answer)
			v.Answered = true
			counted := r.Weigh(0, v)
			freed := "not freed"
			if r.states[0].freed {
				freed = "freed"
			}
			fmt.Fprintf(&all, "%-20s %-14s %-8v %s\n", state, answer, counted.Answer, freed)
		}
		return all.String()
	})
}

// The requests for the last unlock, and for an unlock that hands the lock to the client's next caller.
func TestReleaseOperation(t *testing.T) {
	t.Parallel()
	channel := "channel"
	for _, x := range []struct {
		claim string
		next  Next
		reads bool
		taken time.Duration
		want  *script.Operation
	}{
		{"no caller waits", Next{}, false, 0, script.Release},
		{"no caller waits, of a reader", Next{}, true, 0, script.Undo},
		{"the next caller is called", Next{Keep: &channel}, false, 0, script.Pass},
		{"the name stays taken", Next{}, false, time.Minute, script.Linger},
	} {
		h := holdOf(3)
		h.Reads.Store(x.reads)
		h.taken = x.taken
		for i := range h.lease.Masters {
			h.lease.Masters[i] = Master{Answered: true, Granted: true}
		}
		r := h.release(x.next)
		if weighed := r.Weigher != nil; !r.Held || weighed != (x.want != script.Linger) { // answers to a linger count as they are
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
			if r.Asked[i].Until == 0 {
				t.Errorf("%s: it is sent only once", x.claim)
			}
		}
	}
}

// A release can succeed although no quorum of masters is free: "freed everywhere" in docs/PROTOCOL.md. Two letters
// describe a master. The first is h if it had the hold, or n if it never had the hold, in upper case if it is not a
// member. The second is f if it freed the lock, x if it did not answer, or a dot if its answer is pending.
func TestFreedEverywhere(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		masters string
		need    int
		want    quorum.Verdict
	}{
		{"hf hf nf", 2, quorum.Won},
		{"hf hf nx", 2, quorum.Won},
		{"hf nf n.", 2, quorum.Won},
		{"hf h. nf", 2, quorum.Undecided},
		{"hf hx nf", 2, quorum.Lost},
		{"hf nx nx", 2, quorum.Lost},
		{"hf nx n.", 2, quorum.Undecided},
		{"hf hf Nf", 3, quorum.Lost},
		{"hf hf Nf n.", 3, quorum.Undecided},
		{"hf hf Hx nf", 3, quorum.Lost},
		{"hf hf Hf nf", 3, quorum.Won},
	} {
		var states []releaseState
		for text := range strings.FieldsSeq(x.masters) {
			who := text[:1]
			states = append(states, releaseState{
				member: who == strings.ToLower(who), mayHave: strings.ToLower(who) == "h", seen: text[1] != '.', freed: text[1] == 'f',
			})
		}
		if got := freed(states, x.need); got != x.want {
			t.Errorf("%s, of which %d decide: %v, want %v", x.masters, x.need, got, x.want)
		}
	}
}

// While the last Unlock is ending the hold, a re-entry fails.
func TestReentryDuringLastUnlock(t *testing.T) {
	h := holdOf(3)
	h.entries.depth--
	if _, err := h.Reenter(false, false); err != ErrReleased || h.entries.depth != 0 {
		t.Errorf("entered with %v, at depth %d", err, h.entries.depth)
	}
}
