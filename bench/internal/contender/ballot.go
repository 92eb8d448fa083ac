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
	decided     chan error
}

func newBallot(n int) *ballot {
	need := int64(n/2 + 1)
	return &ballot{need: need, spare: int64(n) - need, decided: make(chan error, 2)}
}

func (b *ballot) vote(yes bool) {
	switch {
	case yes && b.yes.Add(1) == b.need:
		b.decided <- nil
	case !yes && b.no.Add(1) == b.spare+1:
		b.decided <- errNoQuorum
	}
}

func (b *ballot) await(ctx context.Context) error {
	select {
	case err := <-b.decided:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
