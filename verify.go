package redlock

import (
	"context"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// Verdict is what Verify found.
type Verdict uint8

// The verdicts.
const (
	VerifyUnknown Verdict = iota // too few masters answered, or they do not agree
	VerifyValid                  // a quorum of masters has the lock of this token's holder
	VerifyStale                  // so many masters do not have it that the others are no quorum
)

// String returns the verdict in lower case.
func (v Verdict) String() string { return [...]string{"unknown", "valid", "stale"}[v] }

// Verify asks a quorum of masters whether the holder of name that got token still
// holds it. Any process may ask about any token: for example, a service that gets a
// token together with a request. It takes at most the request timeout.
//
// The answer is about one moment, which is past when Verify returns: a holder that
// was valid may be overtaken before the next line runs. So Verify can turn away
// early what would fail later, and can show an operator who holds what. It cannot
// replace a guard that compares the token in the same atomic operation as the write
// (package fence).
//
// Errors: bad input; ctx's error and cause; ErrClosed; and with VerifyUnknown a *QuorumError
// that has the masters' votes.
func (c *Client) Verify(ctx context.Context, name string, token fence.Token) (Verdict, error) {
	c.check(ctx)
	if !token.Valid() {
		return VerifyUnknown, &OptionError{"token", token, "must not be 0"}
	}
	if err := validateName(name); err != nil {
		return VerifyUnknown, err
	}
	if err := c.enter(ctx); err != nil {
		return VerifyUnknown, err
	}
	defer c.calls.Done()
	deadline := c.now().Add(c.requestTimeout)
	lock := script.KeysOf(c.prefix, name, "").Lock
	question := script.Verify.Call([]*string{&lock}, uint64(token))
	verdict := VerifyUnknown
	if err := c.mayAsk(ctx, opVerify, name, nil); err != nil {
		return verdict, err
	}
	err := c.whileMembersChange(ctx, deadline, func(v *membership.View) error {
		asked := newHeldRound(v)
		if err := c.question(ctx, asked, name, question, deadline); err != nil {
			return err
		}
		switch votes := asked.tally(); {
		case decide(votes, asked.need) == won:
			verdict = VerifyValid
		case disowned(votes, asked.quorum):
			verdict = VerifyStale
		default:
			return c.notGranted(v, opVerify, name, votes)
		}
		return nil
	})
	return verdict, err
}

// question asks all masters something that changes nothing, and waits for the verdict: then no further answer is wanted.
func (c *Client) question(ctx context.Context, asked *round, name string, call script.Call, deadline clock.Instant) error {
	requests := asked.requests(len(c.masters))
	for i := range requests {
		requests[i] = master.Request{Order: name, Call: call, Version: asked.view.Version, To: asked}
	}
	asked.ask(c)
	defer asked.abandon()
	return c.await(ctx, asked, deadline)
}
