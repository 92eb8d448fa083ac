package lease

import (
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// aim is the goal of an owner's requests to one master.
type aim uint8

// The aims.
const (
	toHold   aim = iota // a longer lease
	toNote              // the token is noted in the lock
	toGiveUp            // nothing is left of an acquisition that failed
	toFree              // nothing is left of the hold
	toLinger            // nothing is left of the hold, and the name stays taken
)

// want is an aim, with the facts on which the next request depends in addition to the master's state.
type want struct {
	aim
	proved  bool          // toHold: a quorum of the other masters proves the lease
	token   fence.Token   // toNote
	queues  bool          // toGiveUp: the owner's client keeps its place in the queue
	until   clock.Instant // toLinger: the name stays taken until then
	offers  bool          // a master may have an offer of the owner, so that a release may grant the owner the lock
	shares  bool          // other callers of the owner's client may wait for the name, and keep the client's place
	settled bool          // no call waits for this master's answer
	resent  bool          // an earlier copy of the request may still be executed
}

// queued is the change that an undo makes in the queue of its master.
type queued uint8

// The changes.
const (
	noPlace   queued = iota // nothing
	leaves                  // the owner's client leaves the queue
	withdraws               // only the owner's offer is removed
	returns                 // the owner's client returns to its place
)

// step is one request of an owner to one master.
type step struct {
	what  *script.Operation // the operation for a writer; Owner replaces it for a reader; nil: there is nothing to ask
	mark  bool              // the request leaves a gone mark
	queue queued            // only for script.Undo
}

// next returns the next request of an owner to a master. It decides all requests except acquire and
// re-enter. testdata/next has a row for each case.
func next(known Master, w want, now clock.Instant) step {
	switch w.aim {
	case toHold:
		if known.Lost && w.proved && !known.Undoing {
			return step{what: script.Repair}
		}
		return step{what: script.Extend}
	case toNote:
		if known.unconfirmed(w.token) {
			return step{what: script.Confirm}
		}
		return step{}
	case toGiveUp:
		// Nothing to undo: if a release granted the lock by an offer that is over now, this grant expires by itself.
		if w.settled && known.Answered && !known.Granted && !known.Undoing && !known.MayCome(now) {
			return step{}
		}
		s := step{what: script.Undo, mark: known.mayFollow(w)}
		switch {
		case w.queues:
			s.queue = returns
		case w.offers:
			s.queue = withdraws
		}
		return s
	}
	switch {
	case w.settled && known.Absent():
		return step{}
	case w.aim == toLinger && now.Before(w.until):
		return step{what: script.Linger, mark: w.resent || known.MayCome(now)}
	}
	s := step{what: script.Undo, mark: known.mayFollow(w)}
	switch offered := w.offers && (!known.Answered || now.Before(known.Offered)); {
	case offered && !w.resent && !w.shares:
		s.queue = leaves
	case offered, s.mark && w.offers:
		s.queue = withdraws
	case !s.mark:
		s.what = script.Release
	}
	return s
}

// mayFollow reports whether an acquire or a repair of the owner may be executed after the request that is sent now.
// This is possible if an acquire or a repair is in doubt (MayArrive), or if the request is sent again: its first
// connection broke, and may have carried an acquire. Otherwise all acquires and repairs were answered, or were sent
// earlier on this connection.
func (s Master) mayFollow(w want) bool { return w.resent || s.MayArrive }

// asker makes the requests of a hold with one aim. It is also the policy of these requests: before
// a request is sent, asker computes the next step again.
type asker struct {
	hold   *Hold
	want   want
	in     Place         // toGiveUp: the place in the queue
	plain  script.Call   // sent for a release
	beside *quorum.Round // once this round is decided, no answer is needed; nil: no round
}

// request returns the request to master i. The request is repeated until the master has answered,
// or there is nothing left to ask. The caller holds the mu of the hold.
func (a *asker) request(i int, to master.Asker, now clock.Instant) master.Request {
	h := a.hold
	s := h.lease.Masters[i]
	r := master.Request{Order: h.Name, Call: a.plain, To: to, First: s.Answered, Policy: a}
	if !s.Absent() {
		r.Until = h.retryUntil(s.MayCome(now) || !s.Answered, now)
	}
	return r
}

// next returns the next step for a master.
func (a *asker) next(master int, settled, resent bool) step {
	w := a.want
	w.offers, w.shares, w.settled, w.resent = a.hold.offer.channel != nil, a.hold.Reads.Load(), settled, resent
	return next(a.hold.Master(master), w, a.hold.holds.Now())
}

// Obsolete reports whether there is nothing left to ask the master.
func (a *asker) Obsolete(master int, answered bool) bool {
	settled := answered || a.beside != nil && a.beside.Decided()
	return settled && a.next(master, true, false).what == nil
}

// Prepare returns the call of the next step.
func (a *asker) Prepare(master int, _ script.Call, resent bool) script.Call {
	h, s := a.hold, a.next(master, false, resent)
	mark := time.Duration(0)
	if s.mark {
		mark = GoneTTL
	}
	switch {
	case s.what == script.Linger:
		return h.lingerCall(a.want.until, mark)
	case s.what != script.Undo:
		return a.plain
	case s.queue == returns:
		return h.UndoCall(mark, a.in)
	case s.queue == leaves:
		return h.undoCall(mark, h.offer.channel, &leaving)
	case s.queue == withdraws:
		return h.undoCall(mark, h.offer.channel, &withdrawing)
	}
	return h.UndoCall(mark, Place{})
}
