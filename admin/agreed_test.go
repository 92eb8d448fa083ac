package admin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

func TestAgreed(t *testing.T) {
	t.Parallel()
	out := errors.New("down")
	held := func(owner string, token uint64, left time.Duration) MasterView {
		return MasterView{LockView: LockView{State: LockHeld, Owner: owner, Grant: token, Remaining: left}}
	}
	free, kept, down := MasterView{LockView: LockView{State: LockFree}}, MasterView{LockView: LockView{State: LockKept}}, MasterView{Err: out, LockView: LockView{State: LockFree}}
	for _, c := range []struct {
		name  string
		views []MasterView
		want  string
	}{
		{"all agree", []MasterView{held("a", 7, 1), held("a", 7, 2), held("a", 7, 3)}, "held a 7 2ns"},
		{"a majority does", []MasterView{held("a", 7, 1), held("a", 7, 2), free}, "held a 7 1ns"},
		{"its grants differ: the token is not known", []MasterView{held("a", 7, 1), held("a", 8, 2), free}, "held a 0 1ns"},
		{"two owners, and one is down", []MasterView{held("a", 7, 1), held("b", 7, 2), down}, "unknown  0 0s"},
		{"a master that is out does not count", []MasterView{held("a", 7, 1), free, down}, "unknown  0 0s"},
		{"free, and kept for a waiter, is nobody's", []MasterView{kept, free, held("a", 7, 1)}, "free  0 0s"},
		{"nobody answers", []MasterView{down, down, down}, "unknown  0 0s"},
	} {
		v := agreed(c.views, 2)
		if got := fmt.Sprintf("%s %s %d %v", v.State, v.Owner, v.Token, v.Remaining); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A reader that a majority reports gets the client's name if any master has it. Readers are sorted by the end of their
// leases.
func TestAgreedReaders(t *testing.T) {
	t.Parallel()
	known := Holder{Client: "a", Host: "host", PID: 7}
	read := func(owners ...string) LockView {
		view := LockView{State: LockRead}
		for i, owner := range owners {
			view.Readers = append(view.Readers, ReaderView{Owner: owner, Holder: Holder{Client: owner[:1]}, Remaining: time.Duration(i+1) * time.Second})
		}
		return view
	}
	withHolder := func(view LockView) LockView { view.Readers[0].Holder = known; return view }
	reader := func(owner string, is Holder, left time.Duration) ReaderView {
		return ReaderView{Owner: owner, Holder: is, Remaining: left * time.Second}
	}
	a, b, c := Holder{Client: "a"}, Holder{Client: "b"}, Holder{Client: "c"}
	for _, x := range []struct {
		claim string
		views []LockView
		want  []ReaderView
	}{
		{"all have it", []LockView{read("a.1"), read("a.1"), read("a.1")}, []ReaderView{reader("a.1", a, 1)}},
		{"a majority has it", []LockView{read("a.1"), read("a.1"), read()}, []ReaderView{reader("a.1", a, 1)}},
		{"a minority has it", []LockView{read("a.1"), read(), read()}, nil},
		{"the remaining time of a majority counts", []LockView{read("b.1", "a.1"), read("a.1"), read("a.1")}, []ReaderView{reader("a.1", a, 1)}},
		{"one master knows whose it is", []LockView{read("a.1"), withHolder(read("a.1")), read("a.1")}, []ReaderView{reader("a.1", known, 1)}},
		{"in their order, and without those of a minority", []LockView{read("a.1", "b.1", "c.1", "d.1"), read("a.1", "b.1", "c.1"), read("e.1")},
			[]ReaderView{reader("a.1", a, 1), reader("b.1", b, 2), reader("c.1", c, 3)}},
		{"at the same time", []LockView{read("b.1"), read("b.1", "a.1"), read("a.1")}, []ReaderView{reader("a.1", a, 1), reader("b.1", b, 1)}},
	} {
		if got := agreedReaders(x.views, 2); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
}

// The answer of a master counts if the master votes at the view's version.
func TestMasterViewCountsVoters(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for _, x := range []struct {
		claim   string
		unknown bool  // whether the voting members are unknown
		out     error // why the master does not vote
		texts   string
		err     error
		want    error
		state   LockState
	}{
		{"it votes at that version", false, nil, "1@1,a.1 7 ,5,0", nil, nil, LockHeld},
		{"it votes at another one", false, nil, "1@2,a.1 7 ,5,0", nil, script.ErrVersion, LockHeld},
		{"it is another one's server", false, nil, "0@1,a.1 7 ,5,0", nil, script.ErrVersion, LockHeld},
		{"it is none that is known", false, nil, "9@1,a.1 7 ,5,0", nil, script.ErrVersion, LockHeld},
		{"it does not vote", false, nil, ",a.1 7 ,5,0", nil, script.ErrVersion, LockHeld},
		{"it is no member", false, script.ErrNotMember, "1@1,a.1 7 ,5,0", nil, script.ErrNotMember, LockHeld},
		{"the voting members are unknown", true, nil, "1@1,a.1 7 ,5,0", nil, errVotersUnknown, LockHeld},
		{"it is away", false, nil, "", away, away, LockUnknown},
	} {
		v := testvotes.ViewOfAll(3)
		v.Out[1] = x.out
		if x.unknown {
			v = nil
		}
		got := masterView("redlock", v, 1, strings.Split(x.texts, ","), x.err)
		if !errors.Is(got.Err, x.want) || got.State != x.state {
			t.Errorf("%s: %v, and the lock is %s; want %v and %s", x.claim, got.Err, got.State, x.want, x.state)
		}
	}
}

// Replies that are too short, or that end in the middle of a reader, are refused.
func TestMasterViewMalformedReply(t *testing.T) {
	t.Parallel()
	for n, fine := range []bool{4: true, 5: false, 6: true, 7: false, 8: true} {
		texts := strings.Fields("0@1 value 5 0 r.1 7 r.2 8")[:n]
		if got := masterView("redlock", testvotes.ViewOfAll(1), 0, texts, nil); (got.Err == nil) != fine || !fine && got.State != LockUnknown {
			t.Errorf("%q: %v, and the lock is %s", texts, got.Err, got.State)
		}
	}
}

// voteOf turns a master's view into the vote in an error.
func TestVoteOf(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]redlock.Answer{
		nil:                 redlock.Granted,
		script.ErrVersion:   redlock.Refused,
		script.ErrNotMember: redlock.Refused,
		quorum.ErrNoAnswer:  redlock.Unknown,
		errVotersUnknown:    redlock.Unknown,
	} {
		if got := voteOf(MasterView{Master: "m", Err: err}); got != (redlock.Vote{Master: "m", Answer: want, Err: err}) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestRemainingOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1": time.Millisecond, "0": 0, "-1": 0, "-2": 0, "": 0, "words": 0, "99999999999999999999": 0,
		"9223372036854775807": script.MaxRemaining,
	} {
		if got := remainingOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
