package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
)

// Leader describes the holder of a term.
type Leader struct {
	admin.Holder
	Token fence.Token // 0: not known yet
	Term  string      // an id of the term
}

// Leader returns the present leader: see Of.
func (e *Elector) Leader(ctx context.Context) (Leader, error) { return Of(ctx, e.client, e.name) }

// Of asks the masters for the leader of the election with this name. Any process may call it, not
// only candidates. It uses admin.Inspect, with the same limits: the result describes one moment. It
// is for display, and for programs that look for the leader.
//
// Errors: those of admin.Inspect; ErrNoLeader if no majority of masters names a leader: there is none,
// or the election is under way.
func Of(ctx context.Context, client *redlock.Client, name string) (Leader, error) {
	in, err := admin.Inspect(ctx, client, name)
	if err != nil {
		return Leader{}, err
	}
	if in.Quorum.State != admin.LockHeld {
		return Leader{}, fmt.Errorf("%w: %q is %s", ErrNoLeader, name, in.Quorum.State)
	}
	return Leader{Holder: in.Quorum.Holder, Token: in.Quorum.Token, Term: in.Quorum.Owner}, nil
}

// Watch polls for the leader until ctx ends. It calls notify for the first term that it sees, and
// for each later term, even of the same leader. It may miss a leader that leads for less than the
// time between two polls. Watch continues even if too few masters answer.
//
// Errors: ctx's error and cause; redlock.ErrClosed; redlock.ErrBadOption.
func Watch(ctx context.Context, client *redlock.Client, name string, every time.Duration, notify func(Leader)) error {
	if every < MinPoll {
		return &redlock.OptionError{Field: "poll", Value: every, Rule: fmt.Sprintf("must be at least %v", MinPoll)}
	}
	var terms terms
	for {
		now, err := Of(ctx, client, name)
		if errors.Is(err, redlock.ErrClosed) || errors.Is(err, redlock.ErrBadOption) {
			return err
		}
		if terms.next(now) {
			notify(now)
		}
		if err := sleep(ctx, every); err != nil {
			return err
		}
	}
}

// terms are the last terms that Watch has reported and seen.
type terms struct{ reported, seen string }

// next records the present leader, or the zero Leader, and reports whether to notify the caller. A
// leader without a token may still be acquiring the lock, and may fail: so next reports such a leader
// only if two polls in a row found it.
func (t *terms) next(now Leader) bool {
	before := t.seen
	t.seen = now.Term
	if now.Term == "" || now.Term == t.reported || !now.Token.Valid() && now.Term != before {
		return false
	}
	t.reported = now.Term
	return true
}
