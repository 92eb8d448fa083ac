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

// Leader is who leads.
type Leader struct {
	admin.Holder
	Token fence.Token // 0: not known yet
	Term  string      // an id of the term
}

// Leader asks the masters who leads: see Of.
func (e *Elector) Leader(ctx context.Context) (Leader, error) { return Of(ctx, e.client, e.name) }

// Of asks the masters who leads in the election of that name. Any process may ask, also one that is
// no candidate. It uses admin.Inspect, and you can rely on it as little: the answer is about one
// moment, and is for people and for finding the leader.
//
// Errors: those of admin.Inspect; ErrNoLeader if no majority of masters names one: there is none,
// or it is just being elected.
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

// Watch asks who leads, again and again, until ctx ends. It calls tell for the first term that it
// sees, and for each new term after it, also one of the same leader. It may miss a leader that
// leads for less than the time between two questions. It goes on while too few masters answer.
//
// Errors: ctx's error and cause; redlock.ErrClosed; redlock.ErrBadOption.
func Watch(ctx context.Context, client *redlock.Client, name string, every time.Duration, tell func(Leader)) error {
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
			tell(now)
		}
		if err := sleep(ctx, every); err != nil {
			return err
		}
	}
}

// terms are those that Watch has seen.
type terms struct{ told, seen string }

// next notes who leads now, the zero Leader if nobody is known to, and reports whether that is to
// be told. An owner without a token may be asking yet, and may not come to lead: it is told when it
// is seen twice in a row.
func (t *terms) next(now Leader) bool {
	before := t.seen
	t.seen = now.Term
	if now.Term == "" || now.Term == t.told || !now.Token.Valid() && now.Term != before {
		return false
	}
	t.told = now.Term
	return true
}
