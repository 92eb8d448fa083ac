package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/planted"
	"github.com/redlock-go/redlock/internal/script"
)

// goneTTL is how long a master remembers that an owner gave up there: longer
// than a request may wait on its way, which is what go-redis's defaults need for
// their retries (four times 3 s and a dial of 5 s each).
const goneTTL = 30 * time.Second

// hold is one fresh acquisition and all re-entries into it: what every handle
// (Lock) of it shares.
type hold struct {
	client   *Client
	name     string
	owner    string
	keys     script.Keys
	token    fence.Token // set before begin, then constant
	watchdog bool
	maxHold  time.Duration
	since    clock.Instant // when this client got the name from another; 0: begin sets it

	// Set by begin, then constant.
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  clock.Instant // of MaxHold; 0: none

	mu       sync.Mutex    // never held over I/O, a channel or a call of the client's
	terms    terms         // of the next renewal
	standing []standing    // by master
	few      [few]standing // where they are if there are no more
	depth    int           // handles that are not unlocked, and re-entries under way
	ended    error         // why it is over; nil while held
	endedAt  clock.Instant
	timer    *time.Timer
	renewAt  clock.Instant
	renewal  *round        // the watchdog's last one
	longest  time.Duration // key ttl ever asked for: after that no master has the lock
}

// standing is what the hold knows of one master.
type standing struct {
	heard   bool // the acquire was answered
	granted bool // the lock was the owner's there when last heard
	doubt   bool // an acquire of this owner may be executed there yet
	lost    bool // it said "not yours" to the last extend: the next renewal repairs it
	repairs int  // under way
	grant   int64
	until   clock.Instant // the vote counts until then
	expiry  expiry        // of the key
}

func newHold(c *Client, name, owner string, cfg lockConfig) *hold {
	h := &hold{
		client:   c,
		name:     name,
		owner:    owner,
		keys:     script.KeysOf(c.prefix, name, owner),
		watchdog: cfg.watchdog,
		maxHold:  cfg.maxHold,
		terms:    termsOf(cfg.ttl, cfg.delay, c.drift),
		depth:    1,
	}
	h.standing = inPlace(&h.few, len(c.masters))
	h.longest = h.terms.keyTTL()
	return h
}

// The calls; scripts/*.lua tell what stands where.

func (h *hold) acquireCall(t terms, in place) script.Call {
	keys := []*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}
	if in == nowhere {
		return script.Acquire.Call(keys, &h.owner, t.keyTTL().Milliseconds())
	}
	return script.Enqueue.Call(keys, &h.owner, t.keyTTL().Milliseconds(), in.channel, in.ticket)
}

func (h *hold) reenterCall(depth int, t terms) script.Call {
	return script.Reenter.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}, &h.owner, depth, t.keyTTL().Milliseconds())
}

func (h *hold) confirmCall(grant int64) script.Call {
	return script.Confirm.Call([]*string{&h.keys.Lock, &h.keys.Fence}, &h.owner, grant, uint64(h.token))
}

func (h *hold) extendCall(t terms) script.Call {
	return script.Extend.Call([]*string{&h.keys.Lock}, &h.owner, t.keyTTL().Milliseconds())
}

func (h *hold) repairCall(t terms) script.Call {
	return script.Repair.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone}, &h.owner, h.depth, uint64(h.token), t.keyTTL().Milliseconds())
}

func (h *hold) exitCall(depth int) script.Call {
	return script.Exit.Call([]*string{&h.keys.Lock}, &h.owner, depth)
}

func (h *hold) releaseCall() script.Call {
	return script.Release.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner)
}

func (h *hold) passCall(channel *string) script.Call {
	return script.Pass.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner, channel)
}

func (h *hold) undoCall(mark time.Duration, in place) script.Call {
	return script.Undo.Call([]*string{&h.keys.Lock, &h.keys.Gone, &h.keys.Queue}, &h.owner, mark.Milliseconds(), in.channel, in.ticket)
}

// send puts the same call to all masters.
func (h *hold) send(r *round, question script.Call) {
	requests := r.requests(len(h.standing))
	for i := range h.standing {
		requests[i] = master.Request{Order: h.name, Call: question, To: r}
		h.client.masters[i].Submit(&requests[i])
	}
}

// count takes the votes of the acquisition, and returns until when a quorum of
// those that stand at the token is valid. A vote that lapsed must not stand for a
// token either: its master may have lost it, sat out the ttl, and voted again.
func (h *hold) count(votes, standing []script.Vote) clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	var until [maxMasters]clock.Instant
	for i, v := range votes {
		h.acquired(i, v, h.terms)
		if standing[i].Heard && standing[i].Answer == script.Granted {
			until[i] = h.standing[i].until
		}
	}
	return quorumth(until[:len(votes)], h.client.need)
}

// alive reports whether the lease is running. What is over stays over: an answer
// that comes later must not revive it, for a rival may have come and gone. The
// caller holds mu.
func (h *hold) alive() bool {
	return h.ended == nil && h.client.now().Before(h.validUntil())
}

// acquired takes one answer to an acquire, fresh or again, and returns what counts
// of it. The caller holds mu.
func (h *hold) acquired(i int, v script.Vote, t terms) script.Vote {
	s := &h.standing[i]
	if !v.Heard {
		return v
	}
	s.heard = true
	s.doubt = s.doubt || v.Doubt
	switch {
	case v.Answer == script.Unknown && s.granted:
		s.expiry.hi = max(s.expiry.hi, v.Got.Add(t.keyTTL())) // it may have been entered again
		return v
	case v.Answer != script.Granted:
		return v
	case s.granted && s.grant != v.Grant:
		// Not the grant that voted: the key expired and was granted again, to a late
		// copy of our own acquire. What stood between may have been a rival's.
		s.granted, s.until, s.doubt = false, 0, true
		return script.Vote{Heard: true, Answer: script.Refused, Err: script.ErrNotMine}
	}
	was := s.expiry
	if !s.granted {
		was = expiry{}
	}
	s.granted, s.grant = true, v.Grant
	v.Sent = planted.Bug.CountsFrom(v.Sent, v.Got)
	s.until = max(s.until, t.validUntil(v.Sent))
	s.expiry = was.atLeast(expiryAfter(v.Sent, v.Got, t.keyTTL()))
	return v
}

// validUntil is the end of the lease: until then a quorum of votes counts. The
// caller holds mu.
func (h *hold) validUntil() clock.Instant {
	var until [maxMasters]clock.Instant
	for i, s := range h.standing {
		until[i] = s.until
	}
	end := quorumth(until[:len(h.standing)], h.client.need)
	if h.limit != 0 {
		end = min(end, h.limit)
	}
	return end
}

// begin makes the acquisition a hold: from here on it has a context, a watchdog,
// and receives the votes of the stragglers itself.
func (h *hold) begin(ctx context.Context, asked *round) *Lock {
	inner, cancel := context.WithCancelCause(ctx)
	h.cancel = cancel
	h.ctx = &holdContext{fence.WithToken(inner, h.token), h}
	now := h.client.now()
	h.mu.Lock()
	if h.since == 0 {
		h.since = now
	}
	if h.maxHold > 0 {
		h.limit = now.Add(h.maxHold)
	}
	h.renewAt = now.Add(h.terms.ttl / renewals)
	h.timer = time.AfterFunc(h.untilNextTick(now), h.tick)
	t := h.terms
	h.mu.Unlock()
	h.client.names.add(h)
	if h.over() != nil {
		h.client.names.remove(h) // it ended before it was there to be removed
	}
	h.client.suspend.start(h.client)

	late := func(i int, v script.Vote) script.Vote {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s := &h.standing[i]; !s.heard {
			if h.alive() {
				h.acquired(i, v, t)
			} else {
				s.heard, s.granted, s.doubt = v.Heard, v.Answer == script.Granted, v.Doubt
			}
		}
		return v
	}
	asked.handOver(false, late)
	return &Lock{h: h, ctx: h.ctx, cancel: func(error) {}}
}

// giveUp is for an acquisition that failed: what was granted is released, and
// what may have been is too, with a mark that keeps a late acquire out. Who waits
// on keeps its place, and takes it where it has not asked yet.
func (h *hold) giveUp(asked *round, in place) {
	undoing := h.undoCall(0, in)
	undo := func(i int, v script.Vote) script.Vote {
		h.client.masterTime.learn(i, v)
		h.mu.Lock()
		h.acquired(i, v, h.terms)
		keep := h.keep(v.Doubt, h.client.now())
		h.mu.Unlock()
		if (v.Answer == script.Granted || v.Doubt) && planted.Bug.GivesBack(v.Answer != script.Unknown) {
			h.client.masters[i].Submit(&master.Request{
				Order:  h.name,
				Call:   undoing,
				Policy: releaseOf{h},
				To:     nobody{},
				Until:  keep,
			})
		}
		return v
	}
	asked.handOver(in == nowhere, undo)
}

// granted reports whether the master had granted the lock when last heard.
func (h *hold) granted(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.standing[master].granted
}

// absent reports whether the master does not have the lock, and never will.
func (h *hold) absent(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.standing[master].never()
}

// inDoubt reports whether an acquire of this owner may be executed on the master
// yet.
func (h *hold) inDoubt(master int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.standing[master].doubt
}

// nobody asks what is not waited for.
type nobody struct{}

func (nobody) Begin(int) bool          { return true }
func (nobody) Answer(int, script.Vote) {}

// releaseOf is the policy of a release of the hold.
type releaseOf struct{ *hold }

// obsolete: a release is of use, where there turned out to be nothing to free, until
// the asker has heard how the name stands.
func (r releaseOf) Obsolete(master int, answered bool) bool { return answered && r.absent(master) }

// prepare decides whether the release leaves a gone mark. An acquire that went ahead
// of it, on the same connection or answered by then, cannot be late; one whose
// connection broke can.
func (r releaseOf) Prepare(master int, given script.Call, resent bool) script.Call {
	if resent || r.inDoubt(master) {
		return r.undoCall(goneTTL, nowhere)
	}
	return given
}

// keep is until when a release that starts now is worth sending: as long as the
// masters may have the lock. Where an acquire may be executed yet, say by a master
// that goes on after a freeze, longer by the time for which its mark is needed. The
// caller holds mu.
func (h *hold) keep(doubt bool, now clock.Instant) clock.Instant {
	until := now.Add(h.longest)
	if doubt {
		until = until.Add(goneTTL)
	}
	return until
}

// release tells the masters that so many entries are left. With 0 left it is kept
// until it arrived or is of no use any more, but not where the hold never was. Such a
// master is asked once, behind all that this client has sent it for the name, and
// counts if the name is free there: it may be another's, or that of this client's
// hold before. The attempt of a caller of this client whose turn it is next, if
// there is one, goes along: both leave at once, in this order.
func (h *hold) release(left int, next *attempt) *round {
	r := h.client.newRound()
	r.weigh = h.freed
	var acquires []master.Request
	if next != nil {
		acquires = next.asked.requests(len(h.standing))
	}
	var freeing script.Call
	switch {
	case left > 0:
		freeing = h.exitCall(left)
	case next != nil && next.h.since != 0:
		freeing = h.passCall(&h.client.notices.channel)
	default:
		freeing = h.releaseCall()
	}
	requests := r.requests(len(h.standing))
	now := h.client.now()
	h.mu.Lock()
	for i, s := range h.standing {
		requests[i] = master.Request{Order: h.name, Call: freeing, To: r}
		if left == 0 && !s.never() {
			requests[i].Until, requests[i].Policy = h.keep(s.doubt || !s.heard, now), releaseOf{h}
		}
	}
	h.mu.Unlock()
	for i := range requests {
		if next == nil {
			h.client.masters[i].Submit(&requests[i])
			continue
		}
		acquires[i] = master.Request{Order: h.name, Call: next.call, To: &next.asked}
		h.client.masters[i].Submit(&requests[i], &acquires[i])
	}
	return r
}

// freed makes a yes of a release's "not yours" that means that the name is free.
// Where the hold was, the first copy of this release may have freed it; where it
// was not, the name is free unless another has it.
func (h *hold) freed(master int, v script.Vote) script.Vote {
	if !v.NotMine() {
		return v
	}
	free := v.Answer != script.Held
	if h.granted(master) {
		free = v.Doubt
	}
	if free {
		v.Answer, v.Err = script.Granted, nil
	}
	return v
}

// next prepares the attempt of the caller of this client who comes after h. As
// long as this client may keep the name, the masters keep it for that one whoever
// else waits.
func (h *hold) next(w *waiter) *attempt {
	c := h.client
	in := c.placeOf(w)
	a := c.prepare(h.name, w.cfg, in)
	if in != nowhere && !w.cfg.fair && c.now().Before(h.since.Add(keepFor)) {
		a.h.since = h.since
	}
	return a
}

// never reports that the master does not have the lock, and never will.
func (s standing) never() bool { return s.heard && !s.granted && !s.doubt && s.repairs == 0 }

// end makes the hold be over, once, and returns why it is: cause, or what came
// before it. Renewal has stopped when it returns.
func (h *hold) end(cause error) error {
	h.mu.Lock()
	if h.ended != nil {
		defer h.mu.Unlock()
		return h.ended
	}
	now := h.client.now()
	if cause != ErrLost && !now.Before(h.validUntil()) {
		cause = h.unproved()
	}
	h.ended, h.endedAt = cause, now
	h.timer.Stop()
	h.mu.Unlock()

	if planted.Bug.RenewsLate() && cause == ErrReleased {
		time.AfterFunc(h.terms.ttl/renewals, func() {
			late := h.client.newRound()
			h.send(late, h.repairCall(h.terms))
		})
	}
	h.cancel(cause)
	if cause != ErrReleased {
		h.client.names.remove(h) // else handOver does it, with the release
	}
	h.client.observer.Ended(h.name, h.token, cause)
	return cause
}

// unproved is why a lease is not running: a quorum cannot be reached without the
// masters that said "not yours", or else its time ran out (and the timer is late
// then: the process was stopped, or busy). The caller holds mu.
func (h *hold) unproved() error {
	lost := 0
	for _, s := range h.standing {
		if s.lost {
			lost++
		}
	}
	if lost > len(h.standing)-h.client.need {
		return ErrLost
	}
	return ErrExpired
}

// reenter enters a hold again: the masters are told the new depth, and a quorum
// must agree that the lock is still this owner's.
func (h *hold) reenter(ctx context.Context, cfg lockConfig) (*Lock, error) {
	c := h.client
	if !cfg.ttlGiven || cfg.ttl == c.config.lock.ttl { // nobody asked for it here
		cfg.ttl = min(cfg.ttl, c.maxTTL-h.delay())
	}
	if err := c.validateTTL(cfg.ttl, h.delay()); err != nil {
		return nil, err
	}
	deadline := c.now().Add(c.requestTimeout)
	h.mu.Lock()
	switch {
	case h.ended != nil:
		defer h.mu.Unlock()
		return nil, errors.Join(ErrNotAcquired, h.ended)
	case h.depth == 0: // the last Unlock is about to end it
		h.mu.Unlock()
		return nil, errors.Join(ErrNotAcquired, ErrReleased)
	}
	h.depth++
	depth := h.depth
	t := termsOf(cfg.ttl, h.terms.delay, c.drift)
	h.longest = max(h.longest, t.keyTTL())
	h.mu.Unlock()

	asked := c.newRound()
	asked.weigh = func(i int, v script.Vote) script.Vote {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.alive() {
			v = h.acquired(i, v, t)
		}
		return v
	}
	h.send(asked, h.reenterCall(depth, t))
	err := c.await(ctx, asked, deadline)
	if err != nil {
		asked.abandon()
	}
	votes := asked.tally()
	if err != nil || decide(votes, c.need) != won {
		why := c.notGranted(opReenter, h.name, votes)
		if errors.Is(why, ErrLost) {
			h.end(ErrLost)
		}
		err = joinWait(err, why)
	}
	if err == nil && !h.valid() {
		err = errors.Join(ErrNotAcquired, h.end(ErrExpired))
	}
	if err != nil {
		h.depart()
		return nil, err
	}
	// ctx may have another lock's token by now.
	inner, cancel := context.WithCancelCause(fence.WithToken(ctx, h.token))
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return &Lock{h: h, ctx: inner, cancel: func(cause error) { stop(); cancel(cause) }}, nil
}

// depart takes one entry back, and sends the masters word of it. The last one ends
// the hold. It returns the masters' answers to come, and why the hold was over
// before if it was.
func (h *hold) depart() (freed *round, ended error) {
	h.mu.Lock()
	h.depth--
	left := h.depth
	ended = h.ended
	h.mu.Unlock()
	var next *attempt
	if left == 0 && ended == nil {
		if ended = h.end(ErrReleased); ended == ErrReleased {
			ended = nil
			next = h.client.names.handOver(h, h.next)
		}
	}
	if ended != nil {
		return h.release(0, nil), ended // whatever the other handles think
	}
	return h.release(left, next), nil
}

// leave is depart, and waits until a quorum of masters has heard of it.
func (h *hold) leave() error {
	c := h.client
	freed, ended := c.unlocking(h.depart)
	if ended != nil {
		return ended // nobody can tell by now what a release would have found
	}
	// The caller's context is often dead by now, which is why it is not asked; and
	// Close lets releases finish.
	timer := c.timer(c.requestTimeout)
	defer c.putBack(timer)
	fell := c.listen(freed)
	defer c.stopListening(freed, fell)
	select {
	case <-fell:
	case <-timer.C:
	}
	if freed.won() {
		return nil
	}
	votes := freed.tally()
	reason := ErrNoQuorum
	if disowned(votes, c.need) {
		reason = ErrLost
	}
	return &QuorumError{Op: opRelease, Name: h.name, Reason: reason, Need: c.need, Votes: c.publish(votes)}
}

// valid reads the clock.
func (h *hold) valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive()
}

// holdContext is the context of a hold. It tells a Lock call which holds it is
// made under.
type holdContext struct {
	context.Context
	hold *hold
}

type holdKey struct{}

func (c *holdContext) Value(key any) any {
	if key == (holdKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// heldBy returns the hold of name that ctx was derived from, or nil. One that was
// released is none any more; one that was lost still is, so that it is not
// acquired afresh without anybody noticing.
func heldBy(ctx context.Context, c *Client, name string) *hold {
	for {
		inner, ok := ctx.Value(holdKey{}).(*holdContext)
		if !ok {
			return nil
		}
		if h := inner.hold; h.client == c && h.name == name && h.over() != ErrReleased {
			return h
		}
		ctx = inner.Context
	}
}

// over returns why the hold is over, or nil.
func (h *hold) over() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}
