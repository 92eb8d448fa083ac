package redlock

import (
	"context"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Verdict is the result of Verify.
type Verdict uint8

// The verdicts.
const (
	VerifyUnknown Verdict = iota // too few masters answered, or they do not agree
	VerifyValid                  // a quorum of masters has the lock of this token's holder
	VerifyStale                  // so many masters lack this lock that the others are no quorum
)

// String returns the verdict in lower case.
func (v Verdict) String() string { return [...]string{"unknown", "valid", "stale"}[v] }

// Verify asks a quorum of masters whether the holder that got token still holds name. Any process
// may ask about any token: for example, a service that gets a token together with a request.
// Verify takes at most the request timeout.
//
// The answer is about one moment, which is past when Verify returns: a holder that was valid may be
// overtaken before the next line runs. So use Verify to refuse early a request that would fail
// later, or to show an operator whether a token is valid. Verify cannot replace a guard that
// compares the token in the same atomic operation as the write (package fence).
//
// Errors: bad input; ctx's error and cause; ErrClosed; and with VerifyUnknown a *QuorumError that
// has the masters' votes.
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
	deadline := c.asker.Deadline()
	keys := script.KeysOf(c.prefix, name, "")
	question := script.Verify.Call(&keys, uint64(token))
	verdict := VerifyUnknown
	if err := c.mayAsk(ctx, ask.OpVerify, name); err != nil {
		return verdict, err
	}
	err := c.asker.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		asked := quorum.NewHeldRound(v)
		if err := c.asker.Question(ctx, asked, name, question, deadline); err != nil {
			return err
		}
		switch votes := asked.Votes(); {
		case quorum.Decide(votes, asked.Need) == quorum.Won:
			verdict = VerifyValid
		case quorum.Disowned(votes, asked.Majority):
			verdict = VerifyStale
		default:
			return ask.NotGranted(v, ask.OpVerify, name, votes)
		}
		return nil
	})
	return verdict, c.public(err)
}

// Token returns the fencing token of this hold. It is the same for all re-entries into the hold. It is above the
// token of every acquisition of the name that was complete before the acquisition of this hold began. This order is
// kept as long as a majority of masters keeps its counters; it depends on no clock. A hold for reading has the token
// zero, and guards refuse it; see LastToken.
func (l *Lock) Token() fence.Token {
	if l.none() {
		return 0
	}
	if l.h.Reads.Load() {
		return 0
	}
	return l.h.Token
}

// LastToken returns a token by which a reader can see that nobody wrote since an earlier read. If a writer's
// acquisition was complete before the reader's acquisition began, the writer's token is not above the LastToken. If a
// writer's acquisition begins after the reader's acquisition is complete, the writer's token is above the LastToken.
// So if two reads have the same LastToken, nobody wrote between them, and the data of the first read is still right
// at the second. (The converse is not promised: names share counters, so the second LastToken may be higher although
// nobody wrote.)
//
// For a hold that was acquired for writing, LastToken returns the hold's own token. The result of
// LastToken does not show who holds the lock: do not give it to a guard.
func (l *Lock) LastToken() fence.Token {
	if l.none() {
		return 0
	}
	return l.h.Last
}
