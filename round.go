package redlock

import "sync"

// round is one question put to all masters, and the votes it brings in. Who
// asks may wait for the verdict (decided), be called with it (then), or both.
type round struct {
	need    int
	decided chan struct{} // closed with the verdict

	// Each may be nil, is set before the first request is submitted (weigh also by
	// handOver), is called by the masters' goroutines without mu, and must not
	// block. wanted tells whether a request should still leave. weigh gets every
	// vote before it counts, and returns what counts.
	wanted func() bool
	weigh  func(master int, v vote) vote
	then   func(verdict)

	mu      sync.Mutex
	votes   []vote
	verdict verdict
	over    bool // requests that have not left yet need not
}

// newRound returns a round in which all masters are to vote.
func (c *Client) newRound() *round { return newRound(make([]vote, len(c.masters)), c.need) }

// newRound returns a round with the votes that are in already.
func newRound(votes []vote, need int) *round {
	r := &round{need: need, decided: make(chan struct{}), votes: votes}
	r.judge()
	return r
}

// begin and answer make round an asker.

func (r *round) begin(master int, now instant) bool {
	wanted := r.wanted == nil || r.wanted()
	r.mu.Lock()
	leave := wanted && !r.over
	r.mu.Unlock()
	if !leave {
		r.answer(master, vote{heard: true, answer: Refused, err: errNotSent})
	}
	return leave
}

func (r *round) answer(master int, v vote) {
	r.mu.Lock()
	if weigh := r.weigh; weigh != nil {
		r.mu.Unlock()
		v = weigh(master, v)
		r.mu.Lock()
	}
	r.votes[master] = v
	fell := r.judge()
	r.mu.Unlock()
	if fell && r.then != nil {
		r.then(r.verdict)
	}
}

// judge takes the verdict as soon as it is certain, and reports whether it fell
// now. The caller holds mu, or is the only one to know r.
func (r *round) judge() bool {
	if r.verdict != undecided {
		return false
	}
	if r.verdict = decide(r.votes, r.need); r.verdict == undecided {
		return false
	}
	close(r.decided)
	return true
}

// tally returns a copy of the votes so far. Those still pending have, as far as
// the asker is concerned, given no answer in time.
func (r *round) tally() []vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	votes := make([]vote, len(r.votes))
	for i, v := range r.votes {
		if !v.heard {
			v.err = errNoAnswer
		}
		votes[i] = v
	}
	return votes
}

// handOver makes weigh the receiver of every vote that is not in the votes
// returned: nothing is lost between. With over, requests that have not left yet
// never will: they answer that they were not sent.
func (r *round) handOver(over bool, weigh func(master int, v vote) vote) []vote {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.weigh = over, weigh
	return append([]vote(nil), r.votes...)
}

// abandon is for a round that is of no interest any more: what has not left yet
// never will.
func (r *round) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}
