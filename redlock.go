package redlock

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/unwind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Client locks names on a quorum of independent Redis masters. Make one with
// New or Open, share it between goroutines, and Close it.
// A name has 1 to 1024 bytes.
type Client struct {
	config
	masters  []*master.Master
	owned    []io.Closer // clients that are no caller's
	id       string      // random; see identity.NewOwner
	channel  string      // on which the masters call this client
	holds    *lease.Holds
	queues   waitqueue.Queues[lockConfig, attempt]
	notices  *waitqueue.Notices
	goneOn   atomic.Int64 // how often goOn was asked since Close
	uncalled uncalled
	tickets  *waitqueue.Tickets
	timers   sync.Pool // of *time.Timer
	signals  sync.Pool // of chan struct{}

	closed context.Context // ends when Close begins
	close  context.CancelCauseFunc
	mu     sync.Mutex // guards calls.Add against calls.Wait
	calls  sync.WaitGroup
	ending sync.Mutex // held by Close while it ends the holds, and by an Unlock after that

	members  *membership.Group
	announce announcer
}

// TryLock asks every master once for the lock and returns as soon as the answer
// is certain: with the lock held, or with an error that wraps ErrNotAcquired and
// one of ErrHeld, ErrNoQuorum and ErrTooSlow (a *QuorumError). It takes at most
// the request timeout, also when it finds that the members have changed.
// If ctx ends first, the error is ctx's error and cause instead, and TryLock
// gives back in the background what the masters had granted. Bad input is an
// *OptionError and not an ErrNotAcquired, because trying again would not help.
//
// With a ctx derived from the Context of a lock of the same name, it re-enters
// that lock: same token, and as many Unlocks as entries. WithoutReentry refuses that.
//
// It is not safe to assume that the lock is held until Unlock: see Lock.Context.
func (c *Client) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{})
}

// Lock tries as TryLock does, again and again, until it has the lock or ctx ends. When
// ctx ends, it returns ctx's error and cause, joined with the error of the last
// attempt that the masters decided. Callers of one Client that wait for one name are served first come, first
// served, and only the first asks the masters. When time alone will not bring the lock, say
// because no deployment was founded, Lock returns at once; see WithWaitForSetup.
//
// The lock's Context is derived from ctx. When ctx ends, so does the Context, and
// work under the lock should stop. But the client still holds the lock, and renews
// it, until Unlock; with WithContextRenewal it stops renewing as well. To bound only
// the wait, use WithWait.
func (c *Client) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{waits: true})
}

// Do runs work while holding the lock, and unlocks whatever work does (also
// when it panics). The context that work gets ends with the hold: work must stop
// when it does, and pass token on to the stores it writes to, which refuse the
// writes of older holders.
//
// Do returns work's error joined with the Unlock's: a nil error means that the
// lock was held from before work began until after it returned. If Do does not get
// the lock, it does not run work, and returns the error of Lock.
func (c *Client) Do(ctx context.Context, name string, work func(ctx context.Context, token fence.Token) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	lock, err := c.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	defer unlockAfter(ctx, lock, &err)
	return work(lock.Context(), lock.Token())
}

// unlockAfter unlocks, and joins the error of the unlock to err.
func unlockAfter(ctx context.Context, held interface{ Unlock(context.Context) error }, err *error) {
	if unlockErr := held.Unlock(ctx); unlockErr != nil {
		*err = printable.Join(*err, unlockErr)
	}
}

// mode is what a call wants: by default, to write, and not to wait.
type mode struct{ reads, waits bool }

// lock re-enters the hold that ctx carries, or else acquires afresh.
func (c *Client) lock(ctx context.Context, name string, opts []LockOption, m mode) (*Lock, error) {
	c.check(ctx)
	cfg, err := c.configFor(name, opts)
	if err != nil {
		return nil, err
	}
	if m.reads {
		if err := cfg.read(); err != nil {
			return nil, err
		}
	}
	if c.observer.wantsCalls() {
		cfg.telling = c.tellStart(ctx, []string{name}, false, &cfg, m.waits)
	}
	if err := c.enter(ctx); err != nil {
		err = printable.Because(ErrNotAcquired, err)
		cfg.telling.finished(err)
		return nil, err
	}
	defer c.calls.Done()
	lock, err := c.lockWith(ctx, name, cfg, m.waits)
	unwind.OrElse(func() { cfg.telling.finished(err) }, lock.giveBack)
	return lock, err
}

// lockWith is lock with settings that are checked.
func (c *Client) lockWith(ctx context.Context, name string, cfg lockConfig, mayWait bool) (*Lock, error) {
	if cfg.slots > 0 {
		return c.lockSlot(ctx, name, cfg, mayWait && cfg.wait > 0)
	}
	if h := c.holds.FromContext(ctx, name); h != nil {
		return c.reenter(ctx, h, cfg)
	}
	if mayWait {
		return c.wait(ctx, name, cfg)
	}
	return c.once(ctx, name, cfg)
}

// once is one attempt by a caller that does not wait. It is made again when the members
// have changed meanwhile.
func (c *Client) once(ctx context.Context, name string, cfg lockConfig) (lock *Lock, err error) {
	deadline := c.now().Add(c.requestTimeout)
	if err := c.mayAsk(ctx, opAcquire, name, &cfg); err != nil {
		return nil, err
	}
	err = c.atEachVersion(ctx, deadline, func(v *membership.View) (err error) {
		a := c.prepare(v, name, cfg, nowhere)
		a.deadline = deadline
		a.h.Send(&a.asked, a.call)
		lock, err = c.conclude(ctx, a)
		return err
	})
	return lock, err
}

// atEachVersion makes an attempt, and another one at each version of the members that comes
// meanwhile. What the attempt before was granted may not be given back everywhere by then, so
// one that is refused for it is made again.
func (c *Client) atEachVersion(ctx context.Context, deadline clock.Instant, attempt func(*membership.View) error) error {
	first := true
	return c.whileMembersChange(ctx, deadline, func(v *membership.View) error {
		for pause := splitPause; ; pause *= 2 {
			err := attempt(v)
			if first || !errors.Is(err, ErrHeld) || deadline.Sub(c.now()) < pause || c.pause(ctx, pause) != nil {
				first = false
				return err
			}
		}
	})
}

// attempt is one attempt at a fresh acquisition. This is the algorithm; the
// numbers are those of docs/PROTOCOL.md.
type attempt struct {
	client  *Client
	h       *lease.Hold
	telling *telling
	asked   quorum.Round
	call    script.Call
	in      lease.Place
	inSet   bool // it is one of several

	start, deadline clock.Instant
}

// prepare does what comes before the first request: 1. one owner for each fresh
// acquisition, and the same question for all masters, to be sent to them at once.
func (c *Client) prepare(v *membership.View, name string, cfg lockConfig, in lease.Place) *attempt {
	h := c.holds.New(v, name, identity.NewOwner(c.id), cfg.hold(c.driftOf(v)))
	a := &attempt{client: c, h: h, telling: cfg.telling, call: h.AcquireCall(h.Terms(), in), in: in, inSet: cfg.set != nil, start: c.now()}
	a.deadline = a.start.Add(c.requestTimeout)
	a.asked.Init(v)
	a.asked.During = h
	return a
}

// hold is what a hold with these settings is to be.
func (l *lockConfig) hold(drift float64) lease.Config {
	c := lease.Config{
		TTL: l.ttl, Delay: l.delay, Drift: drift, MaxHold: l.maxHold, AtLeast: l.atLeast,
		Reads: l.reads, Watchdog: l.watchdog, WithCtx: l.withCtx, NoReentry: l.once, Observer: l.telling,
	}
	if l.set != nil {
		c.Set = set{l.set}
	}
	return c
}

// conclude awaits the votes, and makes a hold of them or gives up.
func (c *Client) conclude(ctx context.Context, a *attempt) (*Lock, error) {
	h, v := a.h, a.asked.View
	a.telling.attempted()

	// 2. Decide as soon as it is certain. Stragglers are not waited for, and not
	// forgotten either: Receive, in begin and giveUp, gives them a receiver.
	err := c.await(ctx, &a.asked, a.deadline)
	var room [5]script.Vote
	votes := a.asked.Tally(room[:]...)
	if err != nil {
		err = c.notWaited(err, v, opAcquire, h.Name, votes)
	} else if quorum.Decide(votes, a.asked.Need) != quorum.Won {
		err = c.notGranted(v, opAcquire, h.Name, votes)
	}

	// 3. The token: the highest grant number, once a quorum stands at it. A reader gets no
	// token; it learns the highest counter, which counts by the same rule.
	var standing []script.Vote
	if err == nil {
		standing, err = a.confirm(ctx, votes)
	}

	// 4. Valid until a quorum of the votes that stand at the token is: each counts
	// from before it was sent.
	if err == nil && h.Count(votes, standing).Sub(c.now()) < h.Terms().MinLeft() {
		err = &QuorumError{Op: opAcquire, Name: h.Name, Reason: ErrTooSlow, Need: a.asked.Need, Votes: c.publish(votes)}
	}

	// 5. Failed: give back whatever was granted, and whatever may have been. The
	// caller does not wait for it, and its context does not stop it.
	if err != nil {
		in := a.in
		if ctx.Err() != nil || c.closed.Err() != nil {
			in = nowhere
		}
		a.giveUp(in)
		a.telling.failed(h.Name, a.start, err)
		return nil, err
	}
	return a.begin(ctx, votes), nil
}

// begin tells of the acquisition, and makes a hold of it. If the observer does not return, the
// hold begins all the same, and is given back at once: so its end is told too. A set gives
// back all its holds itself.
func (a *attempt) begin(ctx context.Context, votes []script.Vote) *Lock {
	unwind.OrElse(func() { a.telling.acquired(a.h, a.start, votes) }, func() {
		lock := a.hold(ctx)
		if !a.inSet {
			lock.giveBack()
		}
	})
	return a.hold(ctx)
}

// hold makes a hold of the acquisition, and a handle.
func (a *attempt) hold(ctx context.Context) *Lock {
	return &Lock{client: a.client, h: a.h, entry: a.h.Begin(ctx, &a.asked)}
}

// confirm makes the token of the votes, and a quorum of masters stand at it. Usually a quorum
// does from the start. Otherwise confirm asks each master that granted a lower number to
// raise its counter, if its grant still stands. It returns the votes of the masters that stand
// at the token.
func (a *attempt) confirm(ctx context.Context, votes []script.Vote) (standing []script.Vote, err error) {
	standing, asked := a.askToConfirm(votes)
	if asked == nil {
		return standing, nil
	}
	return a.confirmed(ctx, asked, votes)
}

// askToConfirm is the first half of confirm. When no quorum stands at the token, it asks
// the masters and returns the round.
func (a *attempt) askToConfirm(votes []script.Vote) (standing []script.Vote, asked *quorum.Round) {
	h, v := a.h, a.asked.View
	h.Last = quorum.HighestGrant(votes)
	if !h.Reads.Load() {
		h.Token = h.Last
	}
	if quorum.LowestGrant(votes) == h.Last {
		return votes, nil // all that granted stand at it
	}
	ballot := quorum.Standings(votes, h.Last)
	r := quorum.NewBallot(ballot, v)
	if r.Won() {
		return ballot, nil
	}
	for i, vote := range votes {
		if vote.Answer == script.Granted && vote.Grant < int64(h.Last) {
			a.client.masters[i].Submit(&master.Request{Order: h.Name, Call: h.ConfirmCall(vote.Grant), Version: v.Version, To: r, First: true})
		}
	}
	return nil, r
}

// confirmed is the second half of confirm. If no quorum will stand at the token, it waits for
// another master to grant, and makes the token again with that vote. (A master may refuse to
// confirm what it has granted: its memory is full by now.) It does the same when a master is
// silent, with those that have granted meanwhile.
func (a *attempt) confirmed(ctx context.Context, asked *quorum.Round, votes []script.Vote) (standing []script.Vote, err error) {
	c := a.client
	for asked != nil {
		patience := a.confirmUntil(c.now())
		left := c.await(ctx, asked, patience)
		standing = asked.Tally()
		a.takeBack(standing, votes)
		is := quorum.Decide(standing, asked.Need)
		if left == nil && is == quorum.Won {
			return standing, nil
		}
		now, more := c.now(), false
		silent := is == quorum.Undecided && !now.Before(patience) && now.Before(a.deadline)
		switch {
		case left != nil:
		case silent:
			more, left = a.moreGrants(ctx, votes, now)
		case is == quorum.Lost:
			more, left = a.moreGrants(ctx, votes, a.deadline)
		}
		switch {
		case left != nil:
			return standing, c.notWaited(left, asked.View, opAcquire, a.h.Name, votes)
		case more:
			standing, asked = a.askToConfirm(votes)
		case !silent:
			return standing, &QuorumError{Op: opAcquire, Name: a.h.Name, Reason: ErrNoQuorum, Need: asked.Need, Votes: c.publish(standing), Lacks: asked.View.Lacks}
		}
	}
	return standing, nil
}

// confirmUntil is how long the masters that were asked to confirm are waited for, before others
// that have granted meanwhile are asked as well: a quarter of the time that is left.
func (a *attempt) confirmUntil(now clock.Instant) clock.Instant {
	left := a.deadline.Sub(now)
	if left < 10*time.Millisecond {
		return a.deadline
	}
	return now.Add(left / 4)
}

// takeBack takes back the votes of masters that had nothing to confirm: the grant is gone. The
// acquire is not: a second copy of it may have been granted again, or may be yet.
func (a *attempt) takeBack(standing, votes []script.Vote) {
	for i, vote := range standing {
		if vote.Heard && vote.Err == script.ErrNotMine {
			vote.Doubt = true
			votes[i] = vote
			a.asked.Replace(i, vote)
		}
	}
}

// moreGrants waits until one more master grants than in votes, and a quorum does: votes may have been
// taken back. It brings votes up to date, and reports whether they have, or why the caller left.
func (a *attempt) moreGrants(ctx context.Context, votes []script.Vote, until clock.Instant) (more bool, left error) {
	granted := 0
	for i := range votes {
		if votes[i].Answer == script.Granted {
			granted++
		}
	}
	a.asked.Reopen(granted + 1)
	left = a.client.await(ctx, &a.asked, until)
	copy(votes, a.asked.Tally())
	return left == nil && a.asked.Won(), left
}
