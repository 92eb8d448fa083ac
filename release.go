package redlock

import (
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// giveUp gives back an acquisition that failed. It releases what was granted. It
// also releases what may have been granted, with a mark that keeps a late acquire
// out. A caller that waits on keeps its place in the queues, and takes a place on
// masters that it has not asked yet.
func (a *attempt) giveUp(in lease.Place) {
	c, h, terms := a.client, a.h, a.h.Terms()
	undoing := h.UndoCall(0, in.Kept())
	undo := func(i int, v script.Vote) script.Vote {
		c.learnTime(i, v)
		h.Take(i, lease.ToAcquire, v, terms, a.asked.View)
		if v.Answer == script.Granted || v.Doubt {
			h.Undo(i, undoing, v.Doubt)
		}
		return v
	}
	a.asked.Receive(!in.Waits(), undo)
}

// awaitFreed waits until a quorum of masters has done what a release asked for.
func (c *Client) awaitFreed(h *lease.Hold, freed *quorum.Round, deadline clock.Instant) error {
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
	return &QuorumError{Op: opRelease, Name: h.Name, Reason: reason, Need: freed.Need, Votes: c.publish(votes), Lacks: freed.View.Lacks}
}
