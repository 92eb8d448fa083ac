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

// Round sends one question to all masters, and collects the votes in a Tally. The asker may wait
// for the verdict (Notify), set OnVerdict, or both. A round does not depend on holds: During
// decides whether a request may be sent, and Weigher decides how an answer counts.
type Round struct {
	Tally // guarded by mu; its exported fields are set before the first request

	// Requests are sent only as long as During is not over; nil: always.
	During interface{ Over() error }

	// Each of these may be nil. Set them before the first request is submitted. (Receive and Queue
	// set Weigher later.) The masters' goroutines call them without a lock of the round, so they
	// must not block. OnVerdict is called once. OnFailure is called after each vote that is no grant,
	// if the round is still undecided then.
	Weigher   Weigher
	OnVerdict func(Verdict)
	OnFailure func()

	mu        sync.Mutex
	replaced  int             // how often Receive and Queue have set Weigher
	reported  bool            // OnVerdict was called, with the first verdict: another verdict may follow
	decided   chan<- struct{} // receives a value with each vote at or after the verdict, and with each NoVote; nil: no caller waits
	over      bool            // requests that have not left yet are not sent any more; set by Receive and Abandon
	overtaken bool            // the asker stopped waiting without a verdict, and asks again at another view

	// Storage for the votes and requests of the usual number of masters.
	fewVotes    [Few]script.Vote
	fewRequests [Few]master.Request
	Asked       []master.Request  // by master; see Requests
	again       []*master.Request // by master: the last request, if it was repeated; nil: no request was repeated
}

// Weigher gets every vote before it counts, and returns the vote to count.
type Weigher interface {
	Weigh(master int, v script.Vote) script.Vote
}

// WeighFunc implements Weigher.
type WeighFunc func(master int, v script.Vote) script.Vote

func (w WeighFunc) Weigh(master int, v script.Vote) script.Vote { return w(master, v) }

// Few is the usual number of masters. A struct with a value for each master has room for Few
// values, so that one allocation is enough.
const Few = 5

// InPlace returns a slice of n elements, in the given array if they fit.
func InPlace[T any](place *[Few]T, n int) []T {
	if n <= Few {
		return place[:n]
	}
	return make([]T, n)
}

// NewRound returns a round of all masters, at the view's version.
func NewRound(v *membership.View) *Round {
	r := new(Round)
	r.Init(v)
	return r
}

// NewHeldRound returns a round about a lock that the asker may have.
func NewHeldRound(v *membership.View) *Round {
	r := NewRound(v)
	r.Held = true
	return r
}

// NewBallot returns a round with these votes.
func NewBallot(votes []script.Vote, v *membership.View) *Round {
	return &Round{Tally: Tally{View: v, Majority: MajorityOf(v), votes: votes}}
}

// Init prepares the round, at the view's version.
func (r *Round) Init(v *membership.View) {
	r.View, r.Majority = v, MajorityOf(v)
	r.votes = InPlace(&r.fewVotes, len(v.Out))
}

// Requests returns the requests of the round, one for each of n masters, for the caller to fill in.
// Call it only once.
func (r *Round) Requests(n int) []master.Request {
	r.Asked = InPlace(&r.fewRequests, n)
	return r.Asked
}

// Ask sends each request to its master. A master without a vote does not get a request that needs
// a vote.
func (r *Round) Ask(masters []*master.Master) {
	for i := range r.Asked {
		if r.Asked[i].Call.NoVote || !r.Refused(i) {
			masters[i].Submit(&r.Asked[i])
		}
	}
}

// AskInstead is Ask for a round that repeats an earlier round. Each request replaces the request of
// the earlier round to the same master, if that request is unsent.
func (r *Round) AskInstead(masters []*master.Master, before *Round) {
	for i := range r.Asked {
		if !r.Refused(i) {
			masters[i].Replace(before.last(i), &r.Asked[i])
		}
	}
}

// Refused reports whether a master has no vote. If so, Refused records a refusal as its answer.
func (r *Round) Refused(master int) bool {
	out := r.View.Out[master]
	if out != nil {
		r.Answer(master, script.Vote{Answered: true, Answer: script.Refused, Err: out})
	}
	return out != nil
}

// last returns the last request to a master.
func (r *Round) last(i int) *master.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again != nil && r.again[i] != nil {
		return r.again[i]
	}
	return &r.Asked[i]
}

// Failed returns the masters that did not grant, and may grant if they are asked again. goesOn is
// false if there is a verdict, or if a vote counts only in another round.
func (r *Round) Failed() (masters []int, goesOn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.votes {
		failed, elsewhere := r.failed(i)
		if elsewhere {
			return nil, false
		}
		if failed {
			masters = append(masters, i)
		}
	}
	return masters, r.Verdict() == Undecided
}

// AskAgain asks a master again if the master failed, and there is no verdict.
func (r *Round) AskAgain(masters []*master.Master, i int) {
	first := &r.Asked[i]
	again := &master.Request{Order: first.Order, Call: first.Call, Version: first.Version, To: r, First: first.First}
	r.mu.Lock()
	failed, _ := r.failed(i)
	open := failed && r.Verdict() == Undecided
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

// Notify makes the round send a value on the given channel at the verdict, and at each vote that is
// a NoVote. The channel must have room for one value.
func (r *Round) Notify(decided chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = decided
	if r.Verdict() != Undecided || slices.ContainsFunc(r.votes, script.Vote.NoVote) {
		r.signal()
	}
}

// signal wakes the asker, if the asker waits. The caller holds mu.
func (r *Round) signal() {
	select {
	case r.decided <- struct{}{}: // never, if the channel is nil
	default:
	}
}

// Overtake records that the asker stopped waiting without a verdict. It does nothing after a verdict.
func (r *Round) Overtake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overtaken = r.Verdict() == Undecided
}

// Outdated returns, for each master, whether the view gives it no vote, or the master refused
// because it is at another version of the table of members.
func (r *Round) Outdated() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	are := make([]bool, len(r.votes))
	for i := range r.votes {
		are[i] = r.View.Out[i] != nil || r.votes[i].Err == script.ErrVersion
	}
	return are
}

// MaySend and Answer implement master.Asker.

func (r *Round) MaySend(master int) bool {
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
	for by := -1; r.Weigher != nil && by != r.replaced; { // a weigher that is replaced meanwhile must not be the last
		var w Weigher
		w, by = r.Weigher, r.replaced
		r.mu.Unlock()
		v = w.Weigh(master, v)
		r.mu.Lock()
	}
	v = r.add(master, v)
	is := r.Verdict()
	first := is != Undecided && !r.reported
	r.reported = r.reported || first
	if is != Undecided || v.NoVote() {
		r.signal()
	}
	r.mu.Unlock()
	switch {
	case first && r.OnVerdict != nil:
		r.OnVerdict(is)
	case is == Undecided && v.Answer != script.Granted && r.OnFailure != nil:
		r.OnFailure()
	}
}

// Queue reopens a round that was lost because others have the lock: releases may still grant it.
// From then on, w weighs the votes. If a master has granted in reply to a request of the round,
// Queue returns false, and changes nothing.
func (r *Round) Queue(w WeighFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.votes, func(v script.Vote) bool { return v.Answer == script.Granted && !v.Given }) {
		return false
	}
	r.queued, r.Weigher, r.replaced = true, w, r.replaced+1
	return true
}

// Resume undoes Queue: the votes so far decide.
func (r *Round) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queued = false
}

// Reopen makes the round need this number of grants, if the number is larger than a quorum.
func (r *Round) Reopen(grants int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants = grants
}

// Decided reports whether there is a verdict.
func (r *Round) Decided() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Verdict() != Undecided
}

// Won reports whether a quorum has granted.
func (r *Round) Won() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Verdict() == Won
}

// Grants returns how many masters have granted so far.
func (r *Round) Grants() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Granted(r.votes)
}

// Votes returns a copy of the votes so far. The copy uses the memory of room if it fits there. The
// error of a pending vote is ErrNoAnswer, ErrNotAwaited or ErrOvertaken.
func (r *Round) Votes(room ...script.Vote) []script.Vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := append(room[:0], r.votes...)
	pending := ErrNoAnswer
	switch {
	case r.overtaken:
		pending = ErrOvertaken
	case r.Verdict() != Undecided:
		pending = ErrNotAwaited
	}
	for i := range votes {
		if !votes[i].Answered {
			votes[i].Err = pending
		}
	}
	return votes
}

// Replace replaces a vote. Only the goroutine that calls Receive may call it.
func (r *Round) Replace(master int, v script.Vote) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.votes[master] = v
}

// Receive makes w weigh every vote, including the votes so far. If over is true, unsent requests
// are dropped, and answered as not sent.
func (r *Round) Receive(over bool, w WeighFunc) {
	r.mu.Lock()
	r.over, r.Weigher, r.replaced = over, w, r.replaced+1
	var room [Few]script.Vote
	in := append(room[:0], r.votes...) // a notice may change a vote meanwhile
	r.mu.Unlock()
	for i := range in {
		if in[i].Answered {
			w(i, in[i])
		}
	}
}

// Abandon drops the unsent requests of a round that is no longer needed.
func (r *Round) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
