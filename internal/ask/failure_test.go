package ask_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// NotGranted finds the reason why the votes of three masters are no quorum of grants.
func TestFailureReason(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		op, votes string
		needsInit bool
		freeIn    time.Duration
		is, isNot []error
	}{
		{ask.OpAcquire, "hhh", false, 2 * time.Second, []error{ask.ErrHeld, ask.ErrNotAcquired}, []error{ask.ErrNoQuorum, quorum.ErrLost}},
		{ask.OpAcquire, "hhh", true, 2 * time.Second, []error{ask.ErrHeld}, []error{ask.ErrNeedsInit}},
		{ask.OpAcquire, "nnn", false, 0, []error{ask.ErrNoQuorum, ask.ErrNotAcquired, script.ErrNotMine}, []error{quorum.ErrLost}},
		{ask.OpAcquire, "guu", false, 0, []error{ask.ErrNoQuorum, ask.ErrNotAcquired}, []error{ask.ErrHeld, ask.ErrNeedsInit}},
		{ask.OpAcquire, "grr", true, 0, []error{ask.ErrNoQuorum, ask.ErrNotAcquired, ask.ErrNeedsInit, script.ErrNotMember}, nil},
		{ask.OpReenter, "gnn", true, 0, []error{quorum.ErrLost, ask.ErrNotAcquired}, []error{ask.ErrNoQuorum, ask.ErrNeedsInit}},
		{ask.OpExtend, "ghh", false, 0, []error{quorum.ErrLost}, []error{ask.ErrHeld, ask.ErrNotAcquired}},
		{ask.OpExtend, "gnu", false, 0, []error{ask.ErrNoQuorum}, []error{quorum.ErrLost, ask.ErrNotAcquired}},
	} {
		v := testvotes.ViewOfAll(3)
		v.NeedsInit = x.needsInit
		requireErrors(t, x.op+" "+x.votes, ask.NotGranted(v, x.op, "job", testvotes.Of(x.votes)), x.freeIn, false, x.is, x.isNot)
	}
}

// When a caller leaves before a verdict, its error does not report that a quorum was missing.
func TestCanceledFailureReason(t *testing.T) {
	t.Parallel()
	why := context.Canceled
	for _, x := range []struct {
		op, votes string
		undecided bool
		freeIn    time.Duration
		is, isNot []error
	}{
		{ask.OpAcquire, "gr.", true, 0, []error{why, ask.ErrNotAcquired}, []error{ask.ErrNoQuorum, script.ErrNotMember}},
		{ask.OpAcquire, "ggr", true, 0, []error{why, ask.ErrNotAcquired}, []error{ask.ErrNoQuorum, script.ErrNotMember}},
		{ask.OpAcquire, "rr.", false, 0, []error{why, ask.ErrNotAcquired, ask.ErrNoQuorum, script.ErrNotMember}, nil},
		{ask.OpAcquire, "hh.", false, time.Second, []error{why, ask.ErrNotAcquired, ask.ErrHeld}, nil},
		{ask.OpReenter, "gn.", true, 0, []error{why, ask.ErrNotAcquired}, []error{ask.ErrNoQuorum, quorum.ErrLost, script.ErrNotMine}},
		{ask.OpReenter, "nn.", false, 0, []error{why, ask.ErrNotAcquired, quorum.ErrLost}, nil},
		{ask.OpReenter, "uu.", false, 0, []error{why, ask.ErrNotAcquired, ask.ErrNoQuorum}, []error{quorum.ErrLost}},
	} {
		requireErrors(t, x.op+" "+x.votes, ask.NotWaited(why, testvotes.ViewOfAll(3), x.op, "job", testvotes.Of(x.votes)), x.freeIn, x.undecided, x.is, x.isNot)
	}
}

func requireErrors(t *testing.T, claim string, err error, freeIn time.Duration, undecided bool, is, isNot []error) {
	t.Helper()
	f, ok := errors.AsType[*ask.Failure](err)
	if !ok || f.FreeIn != freeIn || f.Undecided != undecided || f.Need != 2 || len(f.Votes) != 3 {
		t.Errorf("%s: %+v", claim, err)
	}
	for _, want := range is {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v; want %v", claim, err, want)
		}
	}
	for _, not := range isNot {
		if errors.Is(err, not) {
			t.Errorf("%s: %v, which is %v", claim, err, not)
		}
	}
}
