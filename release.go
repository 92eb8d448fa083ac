package redlock

import (
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// giveUp gives back an acquisition that failed. It releases what was granted. It
// also releases what may have been granted, with a mark that keeps a late acquire
// out. A caller that waits on keeps its place in the queues, and takes a place on
// masters that it has not asked yet.
func (h *hold) giveUp(asked *quorum.Round, in lease.Place) {
	undoing := h.UndoCall(0, in.Kept())
	undo := func(i int, v script.Vote) script.Vote {
		h.client.learnTime(i, v)
		h.take(i, lease.ToAcquire, v, h.terms, asked.View)
		h.mu.Lock()
		keep := h.retryUntil(v.Doubt, h.client.now())
		h.mu.Unlock()
		if v.Answer == script.Granted || v.Doubt {
			h.client.masters[i].Submit(&master.Request{
				Order:  h.name,
				Call:   undoing,
				Policy: releaseOf{h},
				To:     quorum.Nobody{},
				First:  true,
				Until:  keep,
			})
		}
		return v
	}
	asked.Receive(!in.Waits(), undo)
}

// granted reports whether the master had granted the lock when last heard.
func (h *hold) granted(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[master].Granted
}

// absent reports whether the master does not have the lock, and never will.
func (h *hold) absent(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[master].Absent()
}

// inDoubt reports whether an acquire of this owner may be executed on the master
// yet.
func (h *hold) inDoubt(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[master].MayArrive
}

// retryUntil returns until when a release that starts now is worth sending: as long
// as the masters may have the lock. If a master may still execute an acquire, say
// when it goes on after a freeze, the release is worth sending for longer, by the
// time for which the mark is needed. The caller holds mu.
func (h *hold) retryUntil(doubt bool, now clock.Instant) clock.Instant {
	until := now.Add(h.longest)
	if doubt {
		until = until.Add(goneTTL)
	}
	return until
}

// release is a round that tells the masters that a hold, or an entry into it, is over. It is the policy of its requests.
type release struct {
	quorum.Round
	of    *hold
	exits bool // entries are left
}

func (r *release) Weigh(master int, v script.Vote) script.Vote {
	v = r.of.freed(master, v, r.View.Version)
	if r.exits && v.NotMine() && r.of.Over() == ErrReleased { // the release of the last handle was faster
		v.Answer, v.Err = script.Granted, nil
	}
	return v
}

// Obsolete reports that the release is of no use any more. If it turned out that a
// master has nothing to free, the release is of use until the asker knows whether the
// name is free, from this master or from the others.
func (r *release) Obsolete(master int, answered bool) bool {
	return (answered || r.Decided()) && r.of.absent(master)
}

// Prepare decides as for a release that nobody waits for.
func (r *release) Prepare(master int, given script.Call, resent bool) script.Call {
	return releaseOf{r.of}.Prepare(master, given, resent)
}

// release tells the masters how many entries are left. If none is left, each request is
// kept until it has arrived or is of no use any more. A master that never had the hold
// is asked only once, after everything that this client has sent it for the name, unless
// the others have decided by then. Its answer counts if the name is free there, because
// the lock there may be another owner's, or that of an earlier hold of this client. If
// another caller of this client is next, its attempt leaves together with the release,
// right after it.
func (h *hold) release(left int, next *attempt) *quorum.Round {
	if left == 0 && next == nil && h.lingers() {
		return h.linger()
	}
	r := &release{of: h, exits: left > 0}
	r.Init(h.client.members.View())
	r.Held, r.Weigher = true, r
	var acquires []master.Request
	if next != nil {
		acquires = next.asked.Requests(len(h.lease.Masters))
	}
	var freeing script.Call
	switch {
	case left > 0:
		freeing = h.ExitCall(left)
	case next != nil && next.h.since != 0:
		freeing = h.PassCall(&h.client.channel)
	default:
		freeing = h.ReleaseCall()
	}
	requests := r.Requests(len(h.lease.Masters))
	now := h.client.now()
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		requests[i] = master.Request{Order: h.name, Call: freeing, To: &r.Round, First: s.Answered}
		if left > 0 {
			continue
		}
		requests[i].Policy = r
		if !s.Absent() {
			requests[i].Until = h.retryUntil(s.MayArrive || !s.Answered, now)
		}
	}
	h.mu.Unlock()
	if next == nil {
		r.Ask(h.client.masters)
		return &r.Round
	}
	for i := range requests {
		if next.asked.Refused(i) {
			h.client.masters[i].Submit(&requests[i])
			continue
		}
		acquires[i] = master.Request{Order: h.name, Call: next.call, Version: next.asked.View.Version, To: &next.asked}
		h.client.masters[i].Submit(&requests[i], &acquires[i])
	}
	return &r.Round
}

// freed turns a release's "not yours" into a yes where it means that the name is free for who
// asks at this version of the members. Where the hold was, the first copy of this release may
// have freed it. Where the hold was not, the name is free unless another has it, or the master
// has no vote.
func (h *hold) freed(master int, v script.Vote, version string) script.Vote {
	if !v.NotMine() {
		return v
	}
	h.mu.Lock()
	free := v.Answer != script.Held && h.lease.Masters[master].NonVotingAt != version
	if h.lease.Masters[master].Granted {
		free = v.Doubt
	}
	h.mu.Unlock()
	if free {
		v.Answer, v.Err = script.Granted, nil
	}
	return v
}

// nextAttempt prepares the attempt of the caller of this client who comes after h, and
// has this ticket. As long as this client may keep the name, the masters keep it for
// that caller, whoever else waits. It returns nil if the deployment does not allow what the
// caller wants, who may not have asked before: the caller is told so when it asks by itself.
func (h *hold) nextAttempt(cfg lockConfig, ticket waitqueue.Ticket) *attempt {
	c := h.client
	v := c.members.View()
	if c.suits(v, &cfg) != nil {
		return nil
	}
	in := c.placeFor(ticket)
	a := c.prepare(v, h.name, cfg, in)
	if in.Waits() && !cfg.fair && c.now().Before(h.since.Add(keepFor)) {
		a.h.since = h.since
	}
	return a
}

// exit takes back one entry, for writing or reading, with its wish, and tells the masters. The last exit ends
// the hold. exit returns a round with the masters' answers to come, and, if the hold was over before, why.
func (h *hold) exit(writes bool, w *wish) (freed *quorum.Round, ended error) {
	w.stop()
	h.mu.Lock()
	h.depth--
	if writes {
		h.writers--
	}
	h.drop(w)
	left := h.depth
	ended = h.ended
	h.mu.Unlock()
	var next *attempt
	if left == 0 && ended == nil {
		if ended = h.end(ErrReleased); ended == ErrReleased {
			ended = nil
			if h.lingers() {
				defer h.client.forget(h) // waiters of this client ask only after the masters were told
			} else {
				next = h.client.handOver(h)
			}
		}
	}
	if ended != nil {
		return h.release(0, nil), ended // whatever the other handles think
	}
	return h.release(left, next), nil
}

// leave is exit, and frees the name also if the observer does not return.
func (h *hold) leave(writes bool, w *wish) (freed *quorum.Round, ended error) {
	orElse(func() { freed, ended = h.exit(writes, w) }, h.freeAnyway)
	return freed, ended
}

// giveBack frees a lock under which nothing was done. Nobody waits for that.
func (h *hold) giveBack() {
	h.mu.Lock()
	h.atLeast = 0
	h.mu.Unlock()
	h.leave(!h.Reads.Load(), h.wish)
}

// unlock is exit, and waits until a quorum of masters has done it.
func (h *hold) unlock(writes bool, w *wish) error {
	c := h.client
	freed, ended := c.unlocking(func() (*quorum.Round, error) { return h.exit(writes, w) })
	if ended != nil {
		return ended // nobody can tell by now what a release would have found
	}
	return c.awaitFreed(h, freed, c.now().Add(c.requestTimeout))
}

// awaitFreed waits until a quorum of masters has done what a release asked for.
func (c *Client) awaitFreed(h *hold, freed *quorum.Round, deadline clock.Instant) error {
	// The caller's context is often dead by now, which is why it is not asked; and
	// Close lets releases finish.
	timer := c.getTimer(deadline.Sub(c.now()))
	defer c.putTimer(timer)
	decided := c.listen(freed)
	defer c.stopListening(freed, decided)
	for waits := true; waits && !freed.Decided(); {
		select {
		case <-decided:
		case <-timer.C:
			waits = false
		}
	}
	if freed.Won() {
		return nil
	}
	votes := freed.Tally()
	reason := ErrNoQuorum
	if quorum.Disowned(votes, freed.Majority) {
		reason = ErrLost
	}
	return &QuorumError{Op: opRelease, Name: h.name, Reason: reason, Need: freed.Need, Votes: c.publish(votes), Lacks: freed.View.Lacks}
}

// releaseOf is the policy of a release that nobody waits for.
type releaseOf struct{ *hold }

// Obsolete reports that there turned out to be nothing to free.
func (r releaseOf) Obsolete(master int, answered bool) bool { return answered && r.absent(master) }

// Prepare decides whether the release leaves a gone mark. An acquire that left
// before the release on the same connection, or was answered before it, cannot
// arrive late. An acquire whose connection broke can.
func (r releaseOf) Prepare(master int, given script.Call, resent bool) script.Call {
	if resent || r.inDoubt(master) {
		return r.UndoCall(goneTTL, nowhere)
	}
	return given
}
