package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// round is one question to all masters, and the votes that it brings. The asker may wait
// for the verdict (Client.listen), be called with it (onVerdict), or both.
type round struct {
	// The votes of one version of the table of members count, and only those of its
	// voting members.
	view *membership.View
	quorum.Majority

	// The asker may have the lock, and wants to know if so many masters disown it that
	// the others are no quorum: the round goes on until that is decided as well.
	held bool

	// Requests leave only as long as this hold is not over; nil: always.
	during *hold

	// It is a release of this hold, which weighs the votes; nil: it is none.
	releases *hold

	// Each may be nil, is set before the first request is submitted (weigh also by
	// receive), is called by the masters' goroutines without mu, and must not
	// block. weigh gets every vote before it counts, and returns what counts; onVerdict
	// gets the verdict.
	weigh     func(master int, v script.Vote) script.Vote
	onVerdict func(quorum.Verdict)

	// Of a renewal: what it asks for, and what is called after a vote that is no grant and decides nothing.
	ttl       time.Duration
	onFailure func()

	mu      sync.Mutex
	votes   []script.Vote
	verdict quorum.Verdict
	grants  int             // that the verdict needs, if they are more than a quorum
	decided chan<- struct{} // gets something with the verdict, or a vote that is no vote (NoVote); nil: nobody waits
	over    bool            // requests that have not left yet need not

	// The asker asks again at another view, and waits no longer.
	overtaken bool

	// Where the votes and the requests of the usual number of masters are.
	fewVotes    [few]script.Vote
	fewRequests [few]master.Request
	asked       []master.Request // by master; see requests

	// By master: the last request, if it was asked again; nil: no master was.
	again []*master.Request
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

// newHeldRound is newRound for a question about a lock that the asker may have.
func newHeldRound(v *membership.View) *round {
	r := newRound(v)
	r.held = true
	return r
}

func (r *round) init(v *membership.View) {
	r.view, r.Majority = v, quorum.MajorityOf(v)
	r.votes = inPlace(&r.fewVotes, len(v.Out))
}

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
			c.masters[i].Replace(before.last(i), &r.asked[i])
		}
	}
}

// last is the last request to a master.
func (r *round) last(i int) *master.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again != nil && r.again[i] != nil {
		return r.again[i]
	}
	return &r.asked[i]
}

// failed returns the masters that gave no grant and can yet. goesOn is false if there is a verdict, or a vote that
// counts in another round only.
func (r *round) failed() (masters []int, goesOn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.votes {
		failed, elsewhere := r.hasFailed(i)
		if elsewhere {
			return nil, false
		}
		if failed {
			masters = append(masters, i)
		}
	}
	return masters, r.verdict == quorum.Undecided
}

// hasFailed reports whether a master gave no grant and can yet; elsewhere tells that its vote counts in another round only.
// The caller holds mu.
func (r *round) hasFailed(i int) (failed, elsewhere bool) {
	switch v := &r.votes[i]; {
	case !v.Heard, v.Answer == script.Granted, r.view.Out[i] != nil:
		return false, false
	case v.NotMine(), v.Err == errRepaired, v.Err == errClockJumped:
		return false, true
	}
	return true, false
}

// askAgain asks a master again, unless there is a verdict, or a vote of it by now.
func (r *round) askAgain(c *Client, i int) {
	first := &r.asked[i]
	again := &master.Request{Order: first.Order, Call: first.Call, Version: first.Version, To: r, First: first.First}
	r.mu.Lock()
	failed, _ := r.hasFailed(i)
	open := failed && r.verdict == quorum.Undecided
	if open {
		if r.again == nil {
			r.again = make([]*master.Request, len(r.votes))
		}
		r.votes[i], r.again[i] = script.Vote{}, again
	}
	r.mu.Unlock()
	if open {
		c.masters[i].Submit(again)
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
	r := &round{view: v, Majority: quorum.MajorityOf(v), votes: votes}
	r.judge()
	return r
}

// notify makes decided, which has room for one, get something with the verdict, and with each vote that is none.
func (r *round) notify(decided chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = decided
	if r.verdict != quorum.Undecided || slices.ContainsFunc(r.votes, script.Vote.NoVote) {
		r.signal()
	}
}

// signal wakes the asker, which may have something to look at already. The caller holds mu.
func (r *round) signal() {
	select {
	case r.decided <- struct{}{}: // never, if it is nil
	default:
	}
}

// overtake makes what is pending not awaited, unless there is a verdict.
func (r *round) overtake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overtaken = r.verdict == quorum.Undecided
}

// outdated returns which masters were not asked, or refused, for what they were in the table of members.
func (r *round) outdated() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	are := make([]bool, len(r.votes))
	for i := range r.votes {
		are[i] = r.view.Out[i] != nil || r.votes[i].Err == script.ErrVersion
	}
	return are
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
	if v.NoVote() {
		r.signal()
	}
	now := r.judge()
	failed := v.Answer != script.Granted && r.verdict == quorum.Undecided
	r.mu.Unlock()
	switch {
	case now && r.onVerdict != nil:
		r.onVerdict(r.verdict)
	case failed && r.onFailure != nil:
		r.onFailure()
	}
}

// judge takes the verdict as soon as it is certain, and reports whether it is
// new. The caller holds mu, or is the only one to know r.
func (r *round) judge() bool {
	if r.verdict != quorum.Undecided {
		return false
	}
	if r.held {
		r.verdict = quorum.DecideHeld(r.votes, r.Majority)
	} else {
		r.verdict = quorum.Decide(r.votes, max(r.Need, r.grants))
	}
	if r.verdict == quorum.Undecided {
		return false
	}
	r.signal()
	return true
}

// reopen takes the verdict back: it needs so many grants now, and a quorum. Nobody may wait for the verdict meanwhile.
func (r *round) reopen(grants int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdict, r.grants = quorum.Undecided, grants
	r.judge()
}

// isDecided reports that there is a verdict.
func (r *round) isDecided() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict != quorum.Undecided
}

// won reports that a quorum has granted.
func (r *round) won() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict == quorum.Won
}

// tally returns a copy of the votes so far, in room if they fit. A vote that is
// still pending counts as no answer in time, or as one that the asker did not have
// to wait for.
func (r *round) tally(room ...script.Vote) []script.Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := append(room[:0], r.votes...)
	pending := errNoAnswer
	switch {
	case r.overtaken:
		pending = errOvertaken
	case r.verdict != quorum.Undecided:
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
	var in [quorum.MaxMasters]bool // nobody else changes a vote that is in
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

// noAsker is the asker of what nobody waits for.
type noAsker struct{}

func (noAsker) Begin(int) bool { return true }

func (noAsker) Answer(int, script.Vote) {}
