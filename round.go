package redlock

import (
	"sync"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// round is one question to all masters, and the votes that it brings. The asker may wait
// for the verdict (Client.listen), be called with it (onVerdict), or both.
type round struct {
	// The votes of one version of the table of members count, and only those of its
	// voting members.
	view *membership.View
	quorum

	// Requests leave only as long as this hold is not over; nil: always.
	during *hold

	// It is a release of this hold, which weighs the votes; nil: it is none.
	releases *hold

	// Each may be nil, is set before the first request is submitted (weigh also by
	// receive), is called by the masters' goroutines without mu, and must not
	// block. weigh gets every vote before it counts, and returns what counts; onVerdict
	// gets the verdict.
	weigh     func(master int, v script.Vote) script.Vote
	onVerdict func(verdict)

	mu      sync.Mutex
	votes   []script.Vote
	verdict verdict
	grants  int             // that the verdict needs, if they are more than a quorum
	decided chan<- struct{} // gets something with the verdict; nil: nobody waits
	over    bool            // requests that have not left yet need not

	// Where the votes and the requests of the usual number of masters are.
	fewVotes    [few]script.Vote
	fewRequests [few]master.Request
	asked       []master.Request // by master; see requests
}

// few is the usual number of masters. A struct has room in itself for up to that
// many values, one for each master: so one allocation is enough for all.
const few = 5

// inPlace returns n elements, in place if they fit.
func inPlace[T any](place *[few]T, n int) []T {
	if n <= few {
		return place[:n]
	}
	return make([]T, n)
}

// newRound returns a round in which all masters are to vote, at the view's version.
func newRound(v *membership.View) *round {
	r := new(round)
	r.init(v)
	return r
}

func (r *round) init(v *membership.View) {
	r.view, r.quorum = v, quorumOf(v)
	r.votes = inPlace(&r.fewVotes, len(v.Out))
}

// quorumOf is the quorum of a view's table.
func quorumOf(v *membership.View) quorum { return quorum{v.Table.Quorum(), len(v.Table.Members)} }

// ask sends each request to its master. A master without a vote does not get a request
// that needs one.
func (r *round) ask(c *Client) {
	for i := range r.asked {
		if r.asked[i].Call.NoVote || !r.refused(i) {
			c.masters[i].Submit(&r.asked[i])
		}
	}
}

// askInstead is ask for a round that asks again what another did. Its requests take the places of
// those of the other that are still in the masters' queues.
func (r *round) askInstead(c *Client, before *round) {
	for i := range r.asked {
		if !r.refused(i) {
			c.masters[i].Replace(&before.asked[i], &r.asked[i])
		}
	}
}

// refused answers for a master that has no vote.
func (r *round) refused(master int) bool {
	out := r.view.Out[master]
	if out != nil {
		r.Answer(master, script.Vote{Heard: true, Answer: script.Refused, Err: out})
	}
	return out != nil
}

// requests returns those that are to be made of it, one to each of n masters. It is called once.
func (r *round) requests(n int) []master.Request {
	r.asked = inPlace(&r.fewRequests, n)
	return r.asked
}

// newBallot returns a round with the votes that are in already.
func newBallot(votes []script.Vote, v *membership.View) *round {
	r := &round{view: v, quorum: quorumOf(v), votes: votes}
	r.judge()
	return r
}

// notify makes decided, which has room for one, get something with the verdict.
func (r *round) notify(decided chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = decided
	if decided != nil && r.verdict != undecided {
		decided <- struct{}{}
	}
}

// Begin and Answer make round an asker.

func (r *round) Begin(master int) bool {
	wanted := r.during == nil || r.during.over() == nil
	r.mu.Lock()
	leave := wanted && !r.over
	r.mu.Unlock()
	if !leave {
		r.Answer(master, script.Vote{Heard: true, Answer: script.Refused, Err: errNotSent})
	}
	return leave
}

func (r *round) Answer(master int, v script.Vote) {
	if r.releases != nil {
		v = r.releases.freed(master, v, r.view.Version)
	}
	r.mu.Lock()
	if weigh := r.weigh; weigh != nil {
		r.mu.Unlock()
		v = weigh(master, v)
		r.mu.Lock()
	}
	if out := r.view.Out[master]; out != nil {
		v = script.Vote{Heard: true, Answer: script.Refused, Err: out, Doubt: v.Doubt}
	}
	r.votes[master] = v
	now := r.judge()
	r.mu.Unlock()
	if now && r.onVerdict != nil {
		r.onVerdict(r.verdict)
	}
}

// judge takes the verdict as soon as it is certain, and reports whether it is
// new. The caller holds mu, or is the only one to know r.
func (r *round) judge() bool {
	if r.verdict != undecided {
		return false
	}
	if r.verdict = decide(r.votes, max(r.need, r.grants)); r.verdict == undecided {
		return false
	}
	if r.decided != nil {
		r.decided <- struct{}{}
	}
	return true
}

// reopen takes the verdict back: it needs so many grants now, and a quorum. Nobody may wait for the verdict meanwhile.
func (r *round) reopen(grants int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdict, r.grants = undecided, grants
	r.judge()
}

// isDecided reports that there is a verdict.
func (r *round) isDecided() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict != undecided
}

// won reports that a quorum has granted.
func (r *round) won() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict == won
}

// tally returns a copy of the votes so far, in room if they fit. A vote that is
// still pending counts as no answer in time, or as one that the asker did not have
// to wait for.
func (r *round) tally(room ...script.Vote) []script.Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := append(room[:0], r.votes...)
	pending := errNoAnswer
	if r.verdict != undecided {
		pending = errNotAwaited
	}
	for i := range votes {
		if !votes[i].Heard {
			votes[i].Err = pending
		}
	}
	return votes
}

// replace puts another vote in the place of one that is in. Only the goroutine that calls receive may call it.
func (r *round) replace(master int, v script.Vote) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.votes[master] = v
}

// receive makes weigh the receiver of every vote, those that are in already among
// them. With over, requests that have not left yet never will: they answer that they
// were not sent.
func (r *round) receive(over bool, weigh func(master int, v script.Vote) script.Vote) {
	r.mu.Lock()
	r.over, r.weigh = over, weigh
	var in [maxMasters]bool // nobody else changes a vote that is in
	for i := range r.votes {
		in[i] = r.votes[i].Heard
	}
	r.mu.Unlock()
	for i := range r.votes {
		if in[i] {
			weigh(i, r.votes[i])
		}
	}
}

// abandon is for a round that is of no interest any more: what has not left yet
// never will.
func (r *round) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
