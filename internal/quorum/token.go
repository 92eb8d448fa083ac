package quorum

import (
	"errors"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/script"
)

// Grant numbers become one token by two rules, which need no clock (docs/PROTOCOL.md, "Why the
// token only grows"):
//
//   - the token is the highest grant number among the granting votes;
//   - it counts once a quorum *stands* at it. A master stands at the token if its own grant number
//     is not lower, or if the master confirmed. To confirm, a master raises its counter to the
//     token. It does so only if it still has the grant of its vote.
//
// The quorum of any later acquisition shares a master with the quorum that stood at the token. This
// master granted the later acquisition after it stood at the token, so its INCR went above the token.

// errNotAsked is the reason of a vote, for logs.
var errNotAsked = errors.New("not asked")

// HighestGrant returns the highest grant number among the granting votes: the token.
func HighestGrant(votes []script.Vote) fence.Token {
	top := int64(0)
	for i := range votes {
		if votes[i].Answer == script.Granted {
			top = max(top, votes[i].Grant)
		}
	}
	return fence.Token(top)
}

// LowestGrant returns the lowest grant number among the granting votes.
func LowestGrant(votes []script.Vote) fence.Token {
	low := int64(script.MaxCounter)
	for i := range votes {
		if votes[i].Answer == script.Granted {
			low = min(low, votes[i].Grant)
		}
	}
	return fence.Token(low)
}

// Standings returns the votes with which the confirm round begins. Masters that stand at the token
// have granted. Masters that granted a lower number are pending, because they are asked to confirm.
// All other masters have refused.
func Standings(votes []script.Vote, token fence.Token) []script.Vote {
	ballot := make([]script.Vote, len(votes))
	for i, v := range votes {
		switch {
		case v.Answer != script.Granted:
			ballot[i] = script.Vote{Answered: true, Answer: script.Refused, Err: errNotAsked}
		case v.Grant >= int64(token):
			ballot[i] = v
		}
	}
	return ballot
}
