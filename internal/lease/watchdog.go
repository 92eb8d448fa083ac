package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// Renewals is the number of renewals of a lease within its ttl.
	Renewals = 3

	// RenewRetries is how often a renewal without a quorum is repeated within a ttl. At the interval of these
	// repetitions, each master that failed in a renewal is asked again while the renewal may still be won.
	RenewRetries = 12

	// RenewGiven is the longest time before the first renewal of a lease that releases granted.
	// Before this renewal, an outage longer than quorum.LongestGiven ends the hold, whatever its
	// ttl. A hold that is shorter than RenewGiven costs no renewal.
	RenewGiven = 50 * time.Millisecond

	// SuspendInterval is the interval at which suspendCheck compares the clocks.
	SuspendInterval = 250 * time.Millisecond
)

// renewals is the schedule of the renewals of a hold.
type renewals struct {
	terms quorum.Terms  // of the next renewal
	pace  time.Duration // the ttl, or the time left if the answers were slow; the intervals are fractions of the pace
	timer *time.Timer   // set by Begin
	at    clock.Instant // of the next renewal
	last  *renewal      // nil: no renewal was made
}

// tick runs when the hold's timer fires: it ends the hold if its lease has run out, and renews
// the hold if a renewal is due. It never waits for a master.
func (h *Hold) tick() {
	now := h.holds.Now()
	h.mu.Lock()
	if h.over.cause != nil {
		h.mu.Unlock()
		return
	}
	if !now.Before(h.lease.Until()) {
		h.mu.Unlock()
		h.End(ErrExpired)
		return
	}
	due := h.renews() && !now.Before(h.renewals.at)
	ttl := h.renewals.terms.TTL
	if due {
		h.renewals.at = now.Add(h.renewals.pace / RenewRetries) // a retry, unless this round succeeds
	}
	h.renewals.timer.Reset(h.untilNextTick(now))
	h.mu.Unlock()
	switch {
	case !due:
	case h.set != nil:
		h.set.renew(now, ttl/(2*RenewRetries))
	default:
		h.renew(ttl)
	}
}

// untilNextTick returns how long the timer may sleep. The caller holds mu.
func (h *Hold) untilNextTick(now clock.Instant) time.Duration {
	next := h.lease.Until()
	if h.renews() {
		next = min(next, h.renewals.at)
	}
	return next.Sub(now)
}

// renewNow makes a renewal due.
func (h *Hold) renewNow() {
	now := h.holds.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over.cause == nil {
		h.renewals.at = min(h.renewals.at, now)
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
}

// renewal is a round that asks all masters to extend the lease for a ttl.
type renewal struct {
	quorum.Round
	ttl time.Duration
}

// renew starts a renewal, or continues the last one (askAgain). The requests of a new renewal
// replace the unsent requests of the previous renewal. So even if a master is slow, only one
// renewal waits to be sent to it.
func (h *Hold) renew(ttl time.Duration) {
	v := h.holds.View()
	h.mu.Lock()
	before := h.renewals.last
	h.mu.Unlock()
	if before != nil && before.View == v && before.ttl == ttl && h.askAgain(before) {
		return
	}
	r := h.extension(v, ttl)
	start := h.holds.Now()
	r.OnFailure = func() { h.askAgain(r) }
	onVerdict := r.OnVerdict
	r.OnVerdict = func(is quorum.Verdict) {
		onVerdict(is)
		if is == quorum.Lost {
			h.renewAfter(r, start)
		}
	}
	h.mu.Lock()
	before = h.renewals.last
	h.renewals.last = r
	for i := range h.lease.Masters {
		h.lease.Masters[i].Asked = start
	}
	h.mu.Unlock()
	if before == nil {
		r.Ask(h.holds.Masters)
	} else {
		r.AskInstead(h.holds.Masters, &before.Round)
	}
	h.confirmRest(r.View)
}

// Renew renews a hold of a set, unless the hold is over. It schedules a retry in case the renewal fails.
func (h *Hold) Renew(now clock.Instant) {
	if h.Over() == nil {
		h.renew(h.retryRenewal(now))
	}
}

// retryRenewal returns the ttl of a renewal that begins now. It schedules a retry in case the
// renewal fails.
func (h *Hold) retryRenewal(now clock.Instant) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.renewals.at = now.Add(h.renewals.terms.TTL / RenewRetries)
	if h.over.cause == nil {
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
	return h.renewals.terms.TTL
}

// confirmRest sends a confirm to the masters that have the lock, but not its token. These masters granted a lower
// number, and their confirm was not needed or came late. But all should have the token: Verify and admin.Inspect
// identify a holder by it, and may reach no more than a quorum of the holder's masters.
func (h *Hold) confirmRest(v *membership.View) {
	if h.Reads.Load() {
		return
	}
	var asked [quorum.MaxMasters]bool
	h.mu.Lock()
	for i := range h.lease.Masters {
		asked[i] = v.Out[i] == nil && next(h.lease.Masters[i], want{aim: toNote, token: h.Token}, 0).what == script.Confirm
	}
	h.mu.Unlock()
	for i, m := range h.holds.Masters {
		if asked[i] {
			m.Submit(&master.Request{Order: h.Name, Call: h.ConfirmCall(0), Version: v.Version, To: confirming{h}, First: true})
		}
	}
}

// confirming receives the answers to confirmRest.
type confirming struct{ *Hold }

func (c confirming) MaySend(int) bool { return c.Over() == nil }

func (c confirming) Answer(i int, v script.Vote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := &c.lease.Masters[i]; v.Answer == script.Granted && s.Granted {
		s.Confirmed = true
	}
}

// askAgain asks again the masters that failed in a renewal which may still be won. Between two requests to a master, at
// least a twelfth of the pace or of the ttl passes, whichever of them is shorter. A master whose answer is under way is
// not asked: a second request would only wait behind the first. askAgain reports whether the renewal may still be won.
// If not, another renewal is needed.
func (h *Hold) askAgain(r *renewal) bool {
	failed, goesOn := r.Failed()
	now := h.holds.Now()
	var due []int
	h.mu.Lock()
	if goesOn = goesOn && h.over.cause == nil && h.renewals.last == r; goesOn {
		due, goesOn = h.lease.askAgain(failed, r.repairs, now, min(r.ttl, h.renewals.pace)/RenewRetries)
	}
	h.mu.Unlock()
	for _, i := range due {
		r.AskAgain(h.holds.Masters, i)
	}
	return goesOn
}

// repairs reports whether the renewal sent master i a repair.
func (r *renewal) repairs(i int) bool {
	asked := r.Asked[i].Call.Operation
	return asked == script.Repair || asked == script.Restore
}

// renewAfter is called when the renewal r is lost. If r began so long ago that a retry is due,
// renewAfter starts the retry at once. Otherwise the timer starts it later.
func (h *Hold) renewAfter(r *renewal, start clock.Instant) {
	now := h.holds.Now()
	h.mu.Lock()
	then := start.Add(min(r.ttl, h.renewals.pace) / RenewRetries)
	late := h.over.cause == nil && h.renewals.last == r && h.renews() && !now.Before(then)
	h.mu.Unlock()
	if late {
		h.renew(r.ttl)
	}
}

// membersChanged renews the hold at once if its last renewal has no quorum.
func (h *Hold) membersChanged() {
	h.mu.Lock()
	retry := h.over.cause == nil && h.renews() && h.renewals.last != nil && !h.renewals.last.Won()
	ttl := h.renewals.terms.TTL
	h.mu.Unlock()
	if retry {
		h.renew(ttl)
	}
}

// Extend asks all masters to extend the lease.
func (h *Hold) Extend(v *membership.View, ttl time.Duration) *quorum.Round {
	r := h.extension(v, ttl)
	r.Ask(h.holds.Masters)
	return &r.Round
}

// extension returns a round that asks all masters to extend the lease. Requests that are unsent
// when the hold ends are dropped. A master that did not have the lock in the last round gets a
// repair instead, which writes the lock back. Even if all masters lose the lock one after the
// other, the hold survives, as long as each time a quorum without the repaired master renews it.
func (h *Hold) extension(v *membership.View, ttl time.Duration) *renewal {
	t := h.termsAt(v, ttl)
	start := h.holds.Now()
	r := &renewal{ttl: ttl}
	r.Init(v)
	r.Held, r.During = true, h
	var to [quorum.MaxMasters]Question
	r.Weigher = quorum.WeighFunc(func(i int, vote script.Vote) script.Vote { return h.Take(i, to[i], vote, t, v) })
	r.OnVerdict = func(quorum.Verdict) {
		switch votes := r.Votes(); {
		case quorum.Decide(votes, r.Need) == quorum.Won:
			h.renewed(t, start)
		case quorum.Disowned(votes, r.Majority):
			h.End(ErrLost)
		default:
			h.observer.RenewalFailed(h, v, votes)
		}
	}
	requests := r.Requests(len(h.holds.Masters))
	extending := h.ExtendCall(t)
	h.mu.Lock()
	h.longest = max(h.longest, t.KeyTTL())
	for i := range requests {
		requests[i] = master.Request{Order: h.Name, Call: extending, Version: v.Version, To: &r.Round, First: h.lease.Masters[i].Answered}
		to[i] = ToExtend
		if v.Out[i] == nil && next(h.lease.Masters[i], want{aim: toHold, proved: start.Before(h.lease.Until())}, start).what == script.Repair {
			requests[i].Call = h.RepairCall(t)
			h.lease.Masters[i].Repairs++
			to[i] = ToRepair
		}
	}
	h.mu.Unlock()
	return r
}

// renewed schedules the next renewal, after a round that began at start got a quorum.
func (h *Hold) renewed(t quorum.Terms, start clock.Instant) {
	now := h.holds.Now()
	h.mu.Lock()
	if h.over.cause != nil {
		h.mu.Unlock()
		return
	}
	h.renewals.pace = t.TTL
	h.renewals.at = max(h.renewals.at, start.Add(t.TTL/Renewals))
	h.renewals.timer.Reset(h.untilNextTick(now))
	left := h.lease.Until().Sub(now)
	h.mu.Unlock()
	h.watchHandles()
	h.observer.Renewed(h, left)
}

// Extended is called after a quorum has extended the lease. It sets the ttl of later renewals. If
// the answers came too late to count, Extended ends the hold, and returns why the hold is over.
func (h *Hold) Extended(v *membership.View, ttl time.Duration) error {
	h.extended(h.termsAt(v, ttl), h.holds.Now())
	if !h.Valid() {
		return h.End(ErrExpired)
	}
	return nil
}

// extended sets the terms of later renewals.
func (h *Hold) extended(t quorum.Terms, now clock.Instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over.cause != nil {
		return
	}
	h.renewals.terms = t
	h.renewBy(t, max(h.lease.provedUntil()), now)
	h.renewals.timer.Reset(h.untilNextTick(now))
}

// renewBy sets the pace and the time of the next renewal, for a lease with these terms and this end.
// Normally the pace is the ttl. If the answers were slow, the pace is the time left: with a longer
// pace, the next renewal, a third of the pace from now, might be too late. The caller holds mu.
func (h *Hold) renewBy(t quorum.Terms, until, now clock.Instant) {
	h.renewals.pace = min(t.TTL, until.Sub(now)+t.Drift)
	h.renewals.at = now.Add(h.renewals.pace / Renewals)
}
