package redlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/planted"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Client locks names on a quorum of independent Redis masters. Make one with
// New or Open, share it between goroutines, and Close it.
type Client struct {
	config
	need       int // quorum
	masters    []*master.Master
	owned      []io.Closer // clients that are no caller's
	names      names
	notices    notices
	masterTime masterTime
	timers     sync.Pool // of *time.Timer
	signals    sync.Pool // of chan struct{}

	born    time.Time
	closed  context.Context // ends when Close begins
	close   context.CancelCauseFunc
	mu      sync.Mutex // guards calls.Add against calls.Wait
	calls   sync.WaitGroup
	ending  sync.Mutex // held by Close while it ends the holds, and by an Unlock after that
	suspend suspendCheck

	members *membership.Group
}

// TryLock asks every master once for the lock and returns as soon as the answer
// is certain: with the lock held, or with an error that wraps ErrNotAcquired and
// one of ErrHeld, ErrNoQuorum and ErrTooSlow (a *QuorumError). It takes at most
// the request timeout; three times that when it finds that a master is just being
// let in, and on new masters until they are founded.
// When ctx ends first, its error and its cause are joined to that one; what was
// granted by then is given back in the background. Bad input is an *OptionError, and
// no ErrNotAcquired: trying again would not help.
//
// With a ctx derived from the Context of a lock of the same name, it re-enters
// that lock: same token, and as many Unlocks as entries.
//
// It is not safe to assume that the lock is held until Unlock: see Lock.Context.
func (c *Client) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, (*Client).once)
}

// Lock is TryLock, again and again, until it has the lock or ctx ends; then it
// returns ctx's error and cause joined with why the last attempt failed. Callers of one
// Client that wait for one name are served first come, first served, and only the
// first asks the masters.
//
// The lock's Context is derived from ctx: when ctx ends, so does the Context, and
// work under the lock should stop, but the lock is held, and renewed, until Unlock.
// To bound only the wait, use WithWait.
func (c *Client) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, (*Client).wait)
}

// Do runs work while holding the lock, and unlocks whatever work does (also
// when it panics). The context that work gets ends with the hold: work must stop
// when it does, and pass token on to the stores it writes to, which refuse the
// writes of older holders.
//
// Do returns work's error joined with the Unlock's: a nil error means that the
// lock was held from before work began until after it returned. When the lock was
// not had, work is not run and the error is Lock's.
func (c *Client) Do(ctx context.Context, name string, work func(ctx context.Context, token fence.Token) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	lock, err := c.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	defer func() {
		if unlockErr := lock.Unlock(ctx); unlockErr != nil {
			err = errors.Join(err, unlockErr)
		}
	}()
	return work(lock.Context(), lock.Token())
}

// lock re-enters the hold that ctx carries, or else acquires afresh.
func (c *Client) lock(ctx context.Context, name string, opts []LockOption,
	fresh func(*Client, context.Context, string, lockConfig) (*Lock, error)) (*Lock, error) {
	c.check(ctx)
	cfg, err := c.with(name, opts)
	if err != nil {
		return nil, err
	}
	if err := c.enter(ctx); err != nil {
		return nil, errors.Join(ErrNotAcquired, err)
	}
	defer c.calls.Done()
	if h := heldBy(ctx, c, name); h != nil {
		return h.reenter(ctx, cfg)
	}
	return fresh(c, ctx, name, cfg)
}

// once is one attempt, which is made again when a master was being let in meanwhile,
// or the deployment founded.
func (c *Client) once(ctx context.Context, name string, cfg lockConfig) (*Lock, error) {
	lock, err := c.acquire(ctx, name, cfg)
	if errors.Is(err, ErrNoQuorum) && c.members.Settled(ctx, c.requestTimeout) {
		return c.acquire(ctx, name, cfg)
	}
	return lock, err
}

// acquire makes one attempt at a fresh acquisition, by a caller that does not
// wait.
func (c *Client) acquire(ctx context.Context, name string, cfg lockConfig) (*Lock, error) {
	a := c.prepare(name, cfg, nowhere)
	a.h.send(&a.asked, a.call)
	return c.conclude(ctx, a)
}

// attempt is one attempt at a fresh acquisition. This is the algorithm; the
// numbers are those of docs/PROTOCOL.md.
type attempt struct {
	h     *hold
	asked round
	call  script.Call
	in    place
	start clock.Instant
}

// prepare does what comes before the first request: 1. one owner for each fresh
// acquisition, and the same question for all masters, to be sent to them at once.
func (c *Client) prepare(name string, cfg lockConfig, in place) *attempt {
	h := newHold(c, name, newOwner(), cfg)
	a := &attempt{h: h, call: h.acquireCall(h.terms, in), in: in, start: c.now()}
	a.asked.init(c)
	a.asked.during = h
	return a
}

// newOwner returns a random UUID, as uuid.NewString does, with one allocation less.
// Each is read from the system, so that two copies of a virtual machine never make the
// same one.
func newOwner() string {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // it never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// conclude awaits the votes, and makes a hold of them or gives up.
func (c *Client) conclude(ctx context.Context, a *attempt) (*Lock, error) {
	h, deadline := a.h, a.start.Add(c.requestTimeout)

	// 2. Decide as soon as it is certain. Stragglers are not waited for, and not
	// forgotten either: handOver, below, gives them a receiver.
	err := c.await(ctx, &a.asked, deadline)
	var room [5]script.Vote
	votes := a.asked.tally(room[:]...)
	if err != nil || decide(votes, c.need) != won {
		err = joinWait(err, c.notGranted(opAcquire, h.name, votes))
	}

	// 3. The token: the highest grant number, once a quorum stands at it.
	var standing []script.Vote
	if err == nil {
		h.token = highestGrant(votes)
		standing, err = c.confirm(ctx, h, votes, deadline)
	}

	// 4. Valid until a quorum of the votes that stand at the token is: each counts
	// from before it was sent.
	if err == nil && h.count(votes, standing).Sub(c.now()) < h.terms.minLeft() {
		err = &QuorumError{Op: opAcquire, Name: h.name, Reason: ErrTooSlow, Need: c.need, Votes: c.publish(votes)}
	}

	// 5. Failed: give back whatever was granted, and whatever may have been. The
	// caller does not wait for it, and its context does not stop it.
	if err != nil {
		in := a.in.kept()
		if ctx.Err() != nil || c.closed.Err() != nil {
			in = nowhere
		}
		h.giveUp(&a.asked, in)
		return nil, err
	}
	lock := h.begin(ctx, &a.asked)
	if c.observer.Acquired != nil {
		c.observer.Acquired(h.name, h.token, c.now().Sub(a.start), c.publish(votes))
	}
	return lock, nil
}

// confirm makes a quorum of masters stand at the hold's token. Usually one does
// from the start; else the masters that granted a lower number are asked to raise
// their counters, if the grant they gave still stands. A vote whose grant does not
// is struck out of votes. It returns who stands at the token.
func (c *Client) confirm(ctx context.Context, h *hold, votes []script.Vote, deadline clock.Instant) (standing []script.Vote, err error) {
	if planted.Bug.Confirmed(lowestGrant(votes) == h.token) {
		return votes, nil // all that granted stand at it
	}
	ballot := standings(votes, h.token)
	if decide(ballot, c.need) == won {
		return ballot, nil
	}
	r := newRound(ballot, c.need)
	for i, v := range votes {
		if v.Answer == script.Granted && v.Grant < int64(h.token) {
			c.masters[i].Submit(&master.Request{Order: h.name, Call: h.confirmCall(v.Grant), To: r})
		}
	}
	err = c.await(ctx, r, deadline)
	ballot = r.tally()
	for i, v := range ballot {
		if v.Heard && v.Err == script.ErrNotMine {
			// The grant is gone, but not the acquire: a second copy of it may have been
			// granted again, or may be yet.
			v.Doubt = true
			votes[i] = v
		}
	}
	if err != nil || decide(ballot, c.need) != won {
		err = joinWait(err, &QuorumError{Op: opAcquire, Name: h.name, Reason: ErrNoQuorum, Need: c.need, Votes: c.publish(ballot)})
	}
	return ballot, err
}

// await waits until r is decided or the deadline has passed. It returns why when ctx
// ends, or the client is closed, before.
func (c *Client) await(ctx context.Context, r *round, deadline clock.Instant) error {
	timer := c.timer(deadline.Sub(c.now()))
	defer c.putBack(timer)
	fell := c.listen(r)
	defer c.stopListening(r, fell)
	select {
	case <-fell:
	case <-timer.C:
	case <-ctx.Done():
		return ended(ctx)
	case <-c.closed.Done():
		return ErrClosed
	}
	return nil
}

// listen returns a channel from the client's pool that gets something when the
// verdict of r falls.
func (c *Client) listen(r *round) chan struct{} {
	fell, ok := c.signals.Get().(chan struct{})
	if !ok {
		fell = make(chan struct{}, 1)
	}
	r.tellTo(fell)
	return fell
}

// stopListening gives the channel back.
func (c *Client) stopListening(r *round, fell chan struct{}) {
	r.tellTo(nil)
	select {
	case <-fell:
	default:
	}
	c.signals.Put(fell)
}

// timer returns one from the client's pool, set to d.
func (c *Client) timer(d time.Duration) *time.Timer {
	if t, ok := c.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// putBack gives a timer back. (Since Go 1.23 one that was stopped or reset has
// nothing left in its channel.)
func (c *Client) putBack(t *time.Timer) {
	t.Stop()
	c.timers.Put(t)
}

// notGranted says why the votes are no yes.
func (c *Client) notGranted(op, name string, votes []script.Vote) error {
	e := &QuorumError{Op: op, Name: name, Reason: ErrNoQuorum, Need: c.need, Votes: c.publish(votes)}
	if disowned(votes, c.need) && op != opAcquire {
		e.Reason = ErrLost
	} else if freeIn, yes := contended(votes, c.need); yes {
		e.Reason, e.FreeIn = ErrHeld, freeIn
	}
	return e
}

// publish makes votes readable for the caller.
func (c *Client) publish(votes []script.Vote) []Vote {
	public := make([]Vote, len(votes))
	for i, v := range votes {
		public[i] = Vote{Master: c.masters[i].Name, Answer: Answer(v.Answer), Grant: uint64(v.Grant), Remaining: v.Remaining, Err: printable.Error(v.Err)}
	}
	return public
}

// check panics when a call cannot have been meant: nothing was asked of any master.
func (c *Client) check(ctx context.Context) {
	if c == nil || c.masters == nil {
		panic("redlock: the Client is nil or zero: make one with New or Open")
	}
	if ctx == nil {
		panic("redlock: nil context")
	}
}

// enter begins a call: it checks that ctx has not ended and the client is open. The
// caller must call c.calls.Done unless there was an error.
func (c *Client) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if !c.open() {
		return ErrClosed
	}
	return nil
}

// ended returns why ctx is over: its error, and its cause if that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return errors.Join(err, cause)
}

// open reports that the client is not closed. Close waits then until the caller
// calls c.calls.Done.
func (c *Client) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Err() != nil {
		return false
	}
	c.calls.Add(1)
	return true
}

// unlocking runs the depart of an Unlock such that Close comes before it, and
// releases the hold itself, or else sends what depart has submitted.
func (c *Client) unlocking(depart func() (*round, error)) (*round, error) {
	if c.open() {
		defer c.calls.Done()
	} else {
		c.ending.Lock()
		defer c.ending.Unlock()
	}
	return depart()
}

// with checks the input of an acquisition, and returns the client's settings,
// changed by opts.
func (c *Client) with(name string, opts []LockOption) (lockConfig, error) {
	if len(opts) == 0 {
		return c.config.lock, validateName(name)
	}
	return c.withOptions(name, opts)
}

func (c *Client) withOptions(name string, opts []LockOption) (lockConfig, error) {
	cfg := c.config.lock
	for i, o := range opts {
		if o == nil {
			return cfg, &OptionError{fmt.Sprintf("options[%d]", i), nil, "it must not be nil"}
		}
		o.applyLock(&cfg)
	}
	c.settle(&cfg)
	if err := c.validateLock(cfg); err != nil {
		return cfg, err
	}
	return cfg, validateName(name)
}

// Close ends every hold of the client (their contexts with ErrClosed), gives
// back what is held or may be, and ends all goroutines and connections. Calls under way return ErrClosed. It waits for the masters that
// answer; one that does not costs it at most two request timeouts and a dial, or
// 5 s for each step of an admission that is under way.
// Further calls return ErrClosed.
func (c *Client) Close() error {
	c.check(context.Background())
	c.mu.Lock()
	again := c.closed.Err() != nil
	c.close(ErrClosed)
	c.mu.Unlock()
	if again {
		return ErrClosed
	}
	c.calls.Wait()
	c.ending.Lock()
	for _, h := range c.names.holds() {
		h.end(ErrClosed)
		h.release(0, nil)
	}
	c.ending.Unlock()
	c.suspend.stop()
	c.notices.close()
	for _, m := range c.masters {
		m.Close()
	}
	for _, m := range c.masters {
		m.Wait()
	}
	var errs []error
	for _, r := range c.owned {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
