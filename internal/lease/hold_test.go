package lease

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// quiet is an observer and the callers of a client, for tests in which neither matters.
type quiet struct{ Silent }

func (quiet) Block(string)    {}
func (quiet) Unblock(string)  {}
func (quiet) Next(*Hold) Next { return Next{} }

// holdOf returns a hold without votes, at the time 1 s. No request leaves the masters' request queues.
func holdOf(masters int) *Hold {
	v := testvotes.ViewOfAll(masters)
	holds := NewHolds(Client{
		Prefix:  "redlock",
		Now:     func() clock.Instant { return clock.Instant(time.Second) },
		View:    func() *membership.View { return v },
		Callers: quiet{},
	})
	for i := range masters {
		holds.Masters = append(holds.Masters, master.New(master.Config{Index: i, Endpoint: master.NewEndpoint(new(redis.Options), time.Second), Now: holds.Now}))
	}
	return holds.New(v, "job", "owner", Config{TTL: terms.TTL, Drift: 0.01}, nil, quiet{}).Hold
}

// begin begins h with the votes of all masters, sent and answered just now, and returns the first entry.
func begin(t *testing.T, h *Hold) *Entry {
	votes := make([]script.Vote, len(h.lease.Masters))
	for i := range votes {
		votes[i] = script.Vote{Answered: true, Answer: script.Granted, Grant: 7, Sent: h.holds.Now(), Got: h.holds.Now()}
	}
	h.Token = 7
	Acquisition{h}.Count(votes, votes)
	e := Acquisition{h}.Begin(t.Context(), quorum.NewBallot(votes, h.holds.View()))
	t.Cleanup(func() { h.End(ErrReleased) })
	return e
}

// A request is sent while its round is not abandoned and its hold is not over. Otherwise it is answered,
// and cannot arrive any more.
func TestAbandonedRequestIsNotSent(t *testing.T) {
	for _, x := range []struct {
		claim           string
		ended           error // of the hold
		ofHold, abandon bool
		want            bool
	}{
		{"of no hold", nil, false, false, true},
		{"of a hold", nil, true, false, true},
		{"the hold is over", ErrReleased, true, false, false},
		{"the round is of no interest", nil, false, true, false},
		{"the round of a hold is of no interest", nil, true, true, false},
	} {
		r := quorum.NewRound(testvotes.ViewOfAll(1))
		if x.ofHold {
			h := holdOf(1)
			h.over.cause = x.ended
			h.over.is.Store(x.ended != nil)
			r.During = h
		}
		if x.abandon {
			r.Abandon()
		}
		left := r.MaySend(0)
		if v := r.Votes()[0]; left != x.want || v.Answered == left || !left && (v.Err != quorum.ErrNotSent || v.MayArrive) {
			t.Errorf("%s: leaves is %v, want %v; the vote is %+v", x.claim, left, x.want, v)
		}
	}
}

func TestVoteOfJumpedClock(t *testing.T) {
	for by, want := range map[time.Duration]script.Answer{0: script.Granted, time.Second: script.Refused, -time.Second: script.Refused} {
		h := holdOf(1)
		now, v := h.holds.Now(), h.holds.View()
		acquired := now.Add(-time.Second)
		vote := []script.Vote{{Answered: true, Answer: script.Granted, Sent: acquired, Got: acquired}}
		Acquisition{h}.Count(vote, vote)
		before := h.Master(0)
		counted := h.Take(0, ToExtend, script.Vote{Answered: true, Answer: script.Granted, Sent: now, Got: now, Remaining: h.renewals.terms.TTL - time.Second - by}, h.renewals.terms, v)
		if counts := h.Master(0).Until > before.Until; counted.Answer != want || counts != (want == script.Granted) {
			t.Errorf("jumped by %v: %v, counts: %v", by, counted, counts)
		}
	}
}

// Discard of the first entry ends the hold, and its name does not stay taken. Discard of a re-entry
// leaves the hold as it was before.
func TestDiscard(t *testing.T) {
	t.Parallel()
	h := holdOf(3)
	h.taken = time.Minute
	first := begin(t, h)
	first.Discard()
	if h.Over() != ErrReleased || h.TakenFor() != 0 {
		t.Errorf("the first entry: over with %v, and taken for %v more", h.Over(), h.TakenFor())
	}

	h = holdOf(3)
	h.taken = time.Minute
	begin(t, h)
	second, err := h.Reenter(false, false)
	if err != nil {
		t.Fatal(err)
	}
	second.Begin(t.Context(), false, 0)
	second.Discard()
	if h.Over() != nil || h.entries.depth != 1 || h.taken != time.Minute || len(h.entries.again) != 0 {
		t.Errorf("another entry: over with %v, at depth %d, with %d more entries, taken for %v", h.Over(), h.entries.depth, len(h.entries.again), h.taken)
	}
	if context.Cause(second.Context()) != ErrReleased {
		t.Errorf("its context: %v", context.Cause(second.Context()))
	}
}

// A handle that is gone is reported as forgotten, unless its entry was ended, even if another entry keeps the hold.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		end   func(s *Set, first, again *Entry)
		want  []bool // whether the first entry is reported, and the re-entry
	}{
		{"none was unlocked", func(*Set, *Entry, *Entry) {}, []bool{true, true}},
		{"the re-entry was unlocked", func(_ *Set, _, again *Entry) { again.Unlock(); again.Exit(true) }, []bool{true, false}},
		{"the re-entry was discarded", func(_ *Set, _, again *Entry) { again.Discard() }, []bool{true, false}},
		{"the set was unlocked", func(s *Set, _, _ *Entry) { s.Unlock(); s.Exit() }, []bool{false, true}},
		{"the set was discarded", func(s *Set, _, _ *Entry) { s.Discard(ErrReleased) }, []bool{false, true}},
		{"the hold is over", func(_ *Set, first, _ *Entry) { first.Hold().End(ErrReleased) }, []bool{false, false}},
	} {
		holds, o := holdOf(3).holds, new(forgets)
		s := holds.NewSet(t.Context())
		first := begin(t, holds.New(holds.View(), "job", "owner", Config{TTL: terms.TTL, Drift: 0.01}, s, o).Hold)
		again, err := first.Hold().Reenter(false, false)
		if err != nil {
			t.Fatal(err)
		}
		again.Begin(t.Context(), false, 0)
		first.WatchHandle(o)
		again.WatchHandle(o)
		x.end(s, first, again)
		for i, e := range []*Entry{first, again} {
			if e.unlocked && e.handle != nil {
				t.Errorf("%s: entry %d keeps its handle", x.claim, i)
			}
			o.reported = false
			if e.Forgotten(); o.reported != x.want[i] {
				t.Errorf("%s: entry %d is reported: %v, want %v", x.claim, i, o.reported, x.want[i])
			}
		}
	}
}

type forgets struct {
	quiet
	reported bool
}

func (o *forgets) Forgotten(*Hold) { o.reported = true }
func (*forgets) Watch(*Entry)      {}

// Downgrade succeeds if its caller is the only writer: entries that were unlocked do not count.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	h := holdOf(3)
	e := begin(t, h)
	second, err := h.Reenter(false, false)
	if err != nil {
		t.Fatal(err)
	}
	second.Begin(t.Context(), false, 0)
	if _, err := e.Downgrade(); err != ErrWriters {
		t.Errorf("beside another writer: %v", err)
	}
	_, writes := second.Unlock()
	second.Exit(writes)
	reader, err := h.Reenter(true, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Downgrade(); err != ErrWriters {
		t.Errorf("by a reader beside a writer: %v", err)
	}
	if _, err := e.Downgrade(); err != nil || !h.Reads.Load() {
		t.Errorf("by the only writer: %v", err)
	}
}

// When an extension reports that the hold is lost, the hold's context has ended, whichever request found the loss.
func TestOverByEndsContext(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		votes string
		ended error // before
		want  error
	}{
		{"a quorum refuses", "nng", nil, ErrLost},
		{"a minority does", "ngg", nil, nil},
		{"too few answer", "nuu", nil, nil},
		{"it is over already, for another reason", "nng", ErrExpired, ErrExpired},
		{"it is over already, and a minority refuses", "ngg", ErrReleased, ErrReleased},
	} {
		h := holdOf(3)
		e := begin(t, h)
		if x.ended != nil {
			h.End(x.ended)
		}
		err := h.OverBy(testvotes.Of(x.votes), quorum.MajorityOf(h.holds.View()))
		if err != x.want || context.Cause(e.Context()) != x.want {
			t.Errorf("%s: %v, and the context ended with %v, want %v", x.claim, err, context.Cause(e.Context()), x.want)
		}
	}
}

// Leases of a set that expire together end in separate goroutines. The last hold may end the context before the
// first hold does, but with the cause of the first.
func TestSetExpiryCause(t *testing.T) {
	t.Parallel()
	holds := holdOf(3).holds
	holds.Client.Begin = func() (func(), bool) { return nil, false }
	s := holds.NewSet(context.Background())
	s.live, s.complete = 2, true
	var causes []error
	s.cancel = func(cause error) {
		if len(causes) == 0 {
			causes = append(causes, nil) // the first call, which has not returned
			s.ended(ErrExpired)
			causes[0] = cause
			return
		}
		causes = append(causes, cause)
	}
	s.ended(ErrExpired)
	if want := []error{ErrExpired, ErrExpired}; !slices.Equal(causes, want) {
		t.Errorf("the context ended with %v, want %v", causes, want)
	}
}
