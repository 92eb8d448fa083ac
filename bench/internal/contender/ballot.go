package contender

import (
	"context"
	"errors"
	"sync/atomic"
)

var errNoQuorum = errors.New("no quorum")

// ballot counts answers until a quorum of n masters said yes or cannot any more.
type ballot struct {
	need, spare int64
	yes, no     atomic.Int64
	decided     chan struct{} // has an element once it is
}

func newBallot(n int) *ballot {
	need := int64(n/2 + 1)
	return &ballot{need: need, spare: int64(n) - need, decided: make(chan struct{}, 1)}
}

func (b *ballot) vote(yes bool) {
	if yes && b.yes.Add(1) == b.need || !yes && b.no.Add(1) == b.spare+1 {
		b.decided <- struct{}{}
	}
}

func (b *ballot) await(ctx context.Context) error {
	select {
	case <-b.decided:
		if b.yes.Load() < b.need {
			return errNoQuorum
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
