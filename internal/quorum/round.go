package quorum

import (
	"slices"
	"sync"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// InNextRound is the reason of a vote that counts from the next round on.
type InNextRound string

func (e InNextRound) Error() string { return string(e) }

// Round is one question to all masters, and the votes that it brings. The asker may wait for the
// verdict (Notify), be called with it (OnVerdict), or both. It knows no hold: who asks tells by
// During whether a request may leave, and by Weigher what an answer counts as.
type Round struct {
	// The votes of one version of the table of members count, and only those of its voting members.
	View *membership.View
	Majority

	// The asker may have the lock, and wants to know if so many masters disown it that the others
	// are no quorum: the round goes on until that is decided as well.
	Held bool

	// Requests leave only as long as this is not over; nil: always.
	During interface{ Over() error }

	// Each may be nil, is set before the first request is submitted (Weigher also by Receive), is
	// called by the masters' goroutines without a lock of the round, and must not block. OnVerdict
	// gets the verdict; OnFailure is called after a vote that is no grant and decides nothing.
	Weigher   Weigher
	OnVerdict func(Verdict)
	OnFailure func()

	// Otherwise, if not nil, decides when a quorum is out of reach.
	Otherwise Decider

	mu      sync.Mutex
	votes   []script.Vote
	verdict Verdict
	grants  int             // that the verdict needs, if they are more than a quorum
	decided chan<- struct{} // gets something with the verdict, or a vote that is no vote (NoVote); nil: nobody waits
	over    bool            // requests that have not left yet need not

	// The asker asks again at another view, and waits no longer.
	overtaken bool

	// It stands in the masters' queues: those that others have the lock on may grant it yet.
	stands bool

	// Where the votes and the requests of the usual number of masters are.
	fewVotes    [Few]script.Vote
	fewRequests [Few]master.Request
	Asked       []master.Request // by master; see Requests

	// By master: the last request, if it was asked again; nil: no master was.
	again []*master.Request
}

// Weigher gets every vote before it counts, and returns what counts.
type Weigher interface {
	Weigh(master int, v script.Vote) script.Vote
}

// WeighFunc is a Weigher.
type WeighFunc func(master int, v script.Vote) script.Vote

func (w WeighFunc) Weigh(master int, v script.Vote) script.Vote { return w(master, v) }

// Decider decides a round in the place of a quorum. It is called with a lock of the round, also
// while votes are pending.
type Decider interface {
	Decide() Verdict
}

// Few is the usual number of masters. A struct has room in itself for up to that many values, one
// for each master: so one allocation is enough for all.
const Few = 5

// InPlace returns n elements, in place if they fit.
func InPlace[T any](place *[Few]T, n int) []T {
	if n <= Few {
		return place[:n]
	}
	return make([]T, n)
}

// NewRound returns a round in which all masters are to vote, at the view's version.
func NewRound(v *membership.View) *Round {
	r := new(Round)
	r.Init(v)
	return r
}

// NewHeldRound is NewRound for a question about a lock that the asker may have.
func NewHeldRound(v *membership.View) *Round {
	r := NewRound(v)
	r.Held = true
	return r
}

// Init makes it a round at the view's version.
func (r *Round) Init(v *membership.View) {
	r.View, r.Majority = v, MajorityOf(v)
	r.votes = InPlace(&r.fewVotes, len(v.Out))
}

// Ask sends each request to its master. A master without a vote does not get a request that needs
// one.
func (r *Round) Ask(masters []*master.Master) {
	for i := range r.Asked {
		if r.Asked[i].Call.NoVote || !r.Refused(i) {
			masters[i].Submit(&r.Asked[i])
		}
	}
}

// AskInstead is Ask for a round that asks again what another did. Its requests take the places of
// those of the other that are still in the masters' queues.
func (r *Round) AskInstead(masters []*master.Master, before *Round) {
	for i := range r.Asked {
		if !r.Refused(i) {
			masters[i].Replace(before.last(i), &r.Asked[i])
		}
	}
}

// last is the last request to a master.
func (r *Round) last(i int) *master.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again != nil && r.again[i] != nil {
		return r.again[i]
	}
	return &r.Asked[i]
}

// Failed returns the masters that gave no grant and can yet. goesOn is false if there is a verdict,
// or a vote that counts in another round only.
func (r *Round) Failed() (masters []int, goesOn bool) {
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
	return masters, r.verdict == Undecided
}

// hasFailed reports whether a master gave no grant and can yet; elsewhere tells that its vote
// counts in another round only. The caller holds mu.
func (r *Round) hasFailed(i int) (failed, elsewhere bool) {
	switch v := &r.votes[i]; {
	case !v.Answered, v.Answer == script.Granted, r.View.Out[i] != nil:
		return false, false
	case v.NotMine():
		return false, true
	default:
		_, elsewhere = v.Err.(InNextRound)
		return !elsewhere, elsewhere
	}
}

// AskAgain asks a master again, unless there is a verdict, or a vote of it by now.
func (r *Round) AskAgain(masters []*master.Master, i int) {
	first := &r.Asked[i]
	again := &master.Request{Order: first.Order, Call: first.Call, Version: first.Version, To: r, First: first.First}
	r.mu.Lock()
	failed, _ := r.hasFailed(i)
	open := failed && r.verdict == Undecided
	if open {
		if r.again == nil {
			r.again = make([]*master.Request, len(r.votes))
		}
		r.votes[i], r.again[i] = script.Vote{}, again
	}
	r.mu.Unlock()
	if open {
		masters[i].Submit(again)
	}
}

// Refused answers for a master that has no vote.
func (r *Round) Refused(master int) bool {
	out := r.View.Out[master]
	if out != nil {
		r.Answer(master, script.Vote{Answered: true, Answer: script.Refused, Err: out})
	}
	return out != nil
}

// Requests returns those that are to be made of it, one to each of n masters. It is called once.
func (r *Round) Requests(n int) []master.Request {
	r.Asked = InPlace(&r.fewRequests, n)
	return r.Asked
}

// NewBallot returns a round with the votes that are in already.
func NewBallot(votes []script.Vote, v *membership.View) *Round {
	r := &Round{View: v, Majority: MajorityOf(v), votes: votes}
	r.judge()
	return r
}

// Notify makes decided, which has room for one, get something with the verdict, and with each vote
// that is none.
func (r *Round) Notify(decided chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = decided
	if r.verdict != Undecided || slices.ContainsFunc(r.votes, script.Vote.NoVote) {
		r.signal()
	}
}

// signal wakes the asker, which may have something to look at already. The caller holds mu.
func (r *Round) signal() {
	select {
	case r.decided <- struct{}{}: // never, if it is nil
	default:
	}
}

// Overtake makes what is pending not awaited, unless there is a verdict.
func (r *Round) Overtake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overtaken = r.verdict == Undecided
}

// Outdated returns which masters were not asked, or refused, for what they were in the table of
// members.
func (r *Round) Outdated() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	are := make([]bool, len(r.votes))
	for i := range r.votes {
		are[i] = r.View.Out[i] != nil || r.votes[i].Err == script.ErrVersion
	}
	return are
}

// Begin and Answer make it a master.Asker.

func (r *Round) Begin(master int) bool {
	wanted := r.During == nil || r.During.Over() == nil
	r.mu.Lock()
	leave := wanted && !r.over
	r.mu.Unlock()
	if !leave {
		r.Answer(master, script.Vote{Answered: true, Answer: script.Refused, Err: ErrNotSent})
	}
	return leave
}

func (r *Round) Answer(master int, v script.Vote) {
	r.mu.Lock()
	if w := r.Weigher; w != nil {
		r.mu.Unlock()
		v = w.Weigh(master, v)
		r.mu.Lock()
	}
	if out := r.View.Out[master]; out != nil {
		v = script.Vote{Answered: true, Answer: script.Refused, Err: out, MayArrive: v.MayArrive}
	}
	v = beside(r.votes[master], v)
	r.votes[master] = v
	if v.NoVote() {
		r.signal()
	}
	now := r.judge()
	failed := v.Answer != script.Granted && r.verdict == Undecided
	r.mu.Unlock()
	switch {
	case now && r.OnVerdict != nil:
		r.OnVerdict(r.verdict)
	case failed && r.OnFailure != nil:
		r.OnFailure()
	}
}

// judge takes the verdict as soon as it is certain, and reports whether it is new. The caller holds
// mu, or is the only one to know r.
func (r *Round) judge() bool {
	if r.verdict != Undecided {
		return false
	}
	if r.Held {
		r.verdict = DecideHeld(r.votes, r.Majority)
	} else {
		r.verdict = Decide(r.votes, max(r.Need, r.grants))
	}
	switch {
	case r.verdict == Lost && r.stands:
		r.verdict = Undecided
	case r.verdict == Lost && r.Otherwise != nil:
		r.verdict = r.Otherwise.Decide()
	}
	if r.verdict == Undecided {
		return false
	}
	r.signal()
	return true
}

// Stand is for a round that was lost, because others have the lock: it is not lost any more, for
// the masters may grant by their releases. It makes w the weigher of the votes to come.
// Nobody may wait for the verdict meanwhile. It returns false, and nothing has changed, if a master
// has granted what it was asked for.
func (r *Round) Stand(w WeighFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.votes, func(v script.Vote) bool { return v.Answer == script.Granted && !v.Given }) {
		return false
	}
	r.stands, r.verdict, r.Weigher = true, Undecided, w
	r.judge()
	return true
}

// Resume is the end of Stand: what the votes are now decides.
func (r *Round) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stands = false
	r.judge()
}

// beside returns what counts of a vote of a master that may have one already. Its answer and the
// notice that a release granted may come in any order, and more than once: what it said before that
// tells nothing more.
func beside(had, v script.Vote) script.Vote {
	switch {
	case !had.Given && !v.Given:
		return v
	case had.Answer == script.Granted, had.Err == script.ErrNotMine: // or the grant was found to be gone
		had.MayArrive = had.MayArrive || v.MayArrive
		return had
	}
	v.MayArrive = v.MayArrive || had.MayArrive
	return v
}

// Reopen takes the verdict back: it needs so many grants now, and a quorum. Nobody may wait for the
// verdict meanwhile.
func (r *Round) Reopen(grants int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verdict, r.grants = Undecided, grants
	r.judge()
}

// Decided reports that there is a verdict.
func (r *Round) Decided() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict != Undecided
}

// Grants is how many masters have granted so far.
func (r *Round) Grants() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Granted(r.votes)
}

// Won reports that a quorum has granted.
func (r *Round) Won() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verdict == Won
}

// Tally returns a copy of the votes so far, in room if they fit. A vote that is still pending
// counts as no answer in time, or as one that the asker did not have to wait for.
func (r *Round) Tally(room ...script.Vote) []script.Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := append(room[:0], r.votes...)
	pending := ErrNoAnswer
	switch {
	case r.overtaken:
		pending = ErrOvertaken
	case r.verdict != Undecided:
		pending = ErrNotAwaited
	}
	for i := range votes {
		if !votes[i].Answered {
			votes[i].Err = pending
		}
	}
	return votes
}

// Replace puts another vote in the place of one that is in. Only the goroutine that calls Receive
// may call it.
func (r *Round) Replace(master int, v script.Vote) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.votes[master] = v
}

// Receive makes w the receiver of every vote, those that are in already among them. With over,
// requests that have not left yet never will: they answer that they were not sent.
func (r *Round) Receive(over bool, w WeighFunc) {
	r.mu.Lock()
	r.over, r.Weigher = over, w
	var room [Few]script.Vote
	in := append(room[:0], r.votes...) // a notice may change a vote that is in
	r.mu.Unlock()
	for i := range in {
		if in[i].Answered {
			w(i, in[i])
		}
	}
}

// Abandon is for a round that is of no interest any more: what has not left yet never will.
func (r *Round) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
