package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/unwind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// jointTries is how often LockAll asks for all names at once, before it takes them
// one after the other. Before the second and third try it waits for a name that was
// not free, and holds none of the other names meanwhile.
const jointTries = 3

// LockAll locks 1 to 64 different names: all of them or none. As Lock does, it
// tries again and again until it has them or ctx ends. When all are free it takes one
// round trip. Each name has a token and a hold of its own, as with Lock. All names
// together have one handle, one Context and one Unlock. If one name is lost, all are.
//
// Sets that overlap, in whatever order their names are given, neither wait for each
// other in a circle nor starve: after a few failures LockAll takes the names one after
// the other in the order of their bytes, and holds those that it has while it waits for
// the next. That order is kept only within one call. So take all names at once: callers
// that hold some names, and call LockAll or Lock for more, can wait for each other in a
// circle.
//
// It returns an *OptionError, and asks no master, if a name is given twice, or if ctx
// already carries the lock of one of the names: a set does not re-enter, so it would wait
// for itself. (A Lock of one name re-enters the set: see Locks.Context.) WithMaxHold
// counts from when all names are held; WithWait bounds the whole wait; WithSlots is
// refused.
func (c *Client) LockAll(ctx context.Context, names []string, opts ...LockOption) (*Locks, error) {
	return c.lockAll(ctx, names, opts, true)
}

// TryLockAll asks every master once for all names, and returns as TryLock does: with all
// of them, or with the error for the first name that it could not get.
func (c *Client) TryLockAll(ctx context.Context, names []string, opts ...LockOption) (*Locks, error) {
	return c.lockAll(ctx, names, opts, false)
}

// DoAll is Do for several names: it runs work while holding all of them. The context
// that work gets carries no token: tokens has one for each name.
func (c *Client) DoAll(ctx context.Context, names []string, work func(ctx context.Context, tokens map[string]fence.Token) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	locks, err := c.LockAll(ctx, names, opts...)
	if err != nil {
		return err
	}
	defer unlockAfter(ctx, locks, &err)
	return work(locks.Context(), locks.Tokens())
}

func (c *Client) lockAll(ctx context.Context, names []string, opts []LockOption, mayWait bool) (*Locks, error) {
	c.check(ctx)
	names, err := inOrder(names)
	if err != nil {
		return nil, err
	}
	cfg, err := c.configFor(names[0], opts)
	if err != nil {
		return nil, err
	}
	if cfg.slots > 0 {
		return nil, &OptionError{"slots", cfg.slots, "must not be set for several names: lock a name with slots by itself"}
	}
	for _, name := range names {
		if c.holds.FromContext(ctx, name) != nil {
			return nil, &OptionError{"names", fmt.Sprintf("%q", names), fmt.Sprintf("must not have %q: the context carries its lock already, and a set does not re-enter", name)}
		}
	}
	if c.observer.wantsCalls() {
		cfg.telling = c.tellStart(ctx, names, true, &cfg, mayWait)
	}
	if err := c.enter(ctx); err != nil {
		err = printable.Because(ErrNotAcquired, err)
		cfg.telling.finished(err)
		return nil, err
	}
	defer c.calls.Done()
	fresh := c.allOnce
	if mayWait && cfg.wait > 0 {
		fresh = c.waitForAll
	}
	locks, err := fresh(ctx, names, cfg)
	unwind.OrElse(func() { cfg.telling.finished(err) }, locks.abandon)
	return locks, err
}

// inOrder returns the names in the order in which they are taken, the same for all
// clients: that of their bytes.
func inOrder(given []string) ([]string, error) {
	if len(given) == 0 || len(given) > limits.MaxNames {
		return nil, &OptionError{"number of names", len(given), fmt.Sprintf("must be 1 to %d", limits.MaxNames)}
	}
	for i, name := range given {
		if err := validateLockName(name, 0); err != nil {
			bad := err.(*OptionError)
			return nil, &OptionError{fmt.Sprintf("names[%d]", i), bad.Value, bad.Rule}
		}
		if first := slices.Index(given, name); first < i {
			return nil, &OptionError{fmt.Sprintf("names[%d]", i), fmt.Sprintf("%q", name), fmt.Sprintf("must not be the same as names[%d]", first)}
		}
	}
	names := slices.Clone(given)
	slices.Sort(names)
	return names, nil
}

// allOnce is one attempt at all names by a caller that does not wait.
func (c *Client) allOnce(ctx context.Context, names []string, cfg lockConfig) (*Locks, error) {
	s := c.newLocks(ctx, names, cfg, waitqueue.Ticket{})
	return s.takeBy(cfg, func() error {
		_, err := c.take(s, names)
		return err
	})
}

// takeBy makes a handle for the set once take has taken all its names. If that fails, or an
// observer does not return, it gives back those that the set has.
func (s *Locks) takeBy(cfg lockConfig, take func() error) (*Locks, error) {
	var err error
	unwind.OrElse(func() { err = take() }, s.abandon)
	if err != nil {
		s.abandon()
		return nil, err
	}
	return s.finish(cfg)
}

// waitForAll asks for all names at once, and then for one after the other.
func (c *Client) waitForAll(ctx context.Context, names []string, cfg lockConfig) (*Locks, error) {
	w := waitLimit{client: c, wait: cfg.wait, since: c.now()}
	var ticket waitqueue.Ticket
	blocked := -1 // which name was not free
	for try := 0; ; try++ {
		s := c.newLocks(ctx, names, cfg, ticket)
		locks, err := s.takeBy(cfg, func() (err error) {
			if try < jointTries {
				blocked, err = c.takeJointly(s, names, blocked, &w)
				return err
			}
			return c.takeInOrder(s, names, &w)
		})
		if err == nil {
			return locks, nil
		}
		ticket = s.ticket
		if errors.Is(err, ErrBadOption) || errors.Is(err, ErrNeedsSetup) {
			return nil, err
		}
		if cfg.needsSetup(err) {
			return nil, printable.Join(err, ErrNeedsSetup)
		}
		if w.over(ctx) == nil && (try >= jointTries || blocked < 0) {
			_ = c.pause(ctx, min(retryPause(try, err, rand.Float64()), w.left()))
		}
		if over := w.over(ctx); over != nil {
			if !errors.Is(err, ErrNotAcquired) { // it lost what it had
				err = printable.Because(ErrNotAcquired, err)
			}
			if errors.Is(err, over) { // the wait for one of its names said so
				return nil, err
			}
			return nil, printable.Because(over, err)
		}
	}
}

// takeJointly takes all names at once, after it has waited in line for the one that was
// not free the last time. It returns which one is not free now.
func (c *Client) takeJointly(s *Locks, names []string, blocked int, w *waitLimit) (int, error) {
	rest := names
	if blocked >= 0 {
		if err := c.waitForOne(s, names[blocked], w); err != nil {
			return -1, err
		}
		rest = slices.Delete(slices.Clone(names), blocked, blocked+1)
	}
	if len(rest) == 0 {
		return -1, nil
	}
	at, err := c.take(s, rest)
	if at >= 0 {
		at = slices.Index(names, rest[at])
	}
	return at, err
}

// takeInOrder waits in line for one name after the other, and holds those that it has
// meanwhile. After each name it also tries to take all the remaining names at once,
// without waiting.
func (c *Client) takeInOrder(s *Locks, names []string, w *waitLimit) error {
	for i, name := range names {
		if err := c.waitForOne(s, name, w); err != nil {
			return err
		}
		if rest := names[i+1:]; len(rest) > 1 {
			if _, err := c.take(s, rest); err == nil {
				return nil
			}
		}
	}
	return nil
}

// waitForOne waits in line for one name of the set.
func (c *Client) waitForOne(s *Locks, name string, w *waitLimit) error {
	cfg := s.cfg
	cfg.wait = max(w.left(), 1)
	_, err := c.wait(s.base, name, cfg)
	return err
}

// take is one attempt to take these names of the set at once: on each master all or none.
// It returns which of them was the first that was not free, or -1.
func (c *Client) take(s *Locks, names []string) (blocked int, err error) {
	ctx, deadline := s.base, c.now().Add(c.requestTimeout)
	blocked = -1
	if err := c.mayAsk(ctx, opAcquire, names[0], &s.cfg); err != nil {
		return -1, err
	}
	err = c.atEachVersion(ctx, deadline, func(v *membership.View) (err error) {
		blocked, err = c.takeAt(ctx, s, v, names, deadline)
		return err
	})
	return blocked, err
}

// takeAt is take at one version of the members. Each name has an attempt of its own, with
// all that holds for one: they are sent together, and won or given up together.
func (c *Client) takeAt(ctx context.Context, s *Locks, v *membership.View, names []string, deadline clock.Instant) (blocked int, err error) {
	s.cfg.telling.attempted()
	attempts := c.askForAll(s, v, names, deadline)
	votes, failed, err := c.awaitAll(ctx, attempts, deadline)
	blocked = -1
	if failed >= 0 {
		blocked = slices.IndexFunc(votes, heldByOther)
		if blocked >= 0 {
			failed = blocked
		}
		if err != nil {
			err = c.notWaited(err, v, opAcquire, names[failed], votes[failed])
		} else {
			err = c.notGranted(v, opAcquire, names[failed], votes[failed])
		}
	} else {
		err = c.makeTokens(ctx, attempts, votes)
	}
	if err != nil {
		c.gather(func() {
			for _, a := range attempts {
				a.giveUp(nowhere)
			}
		})
		name := names[0]
		if q, ok := errors.AsType[*QuorumError](err); ok {
			name = q.Name
		}
		s.cfg.telling.failed(name, attempts[0].start, err)
		return blocked, err
	}
	s.begin(attempts, votes)
	return -1, nil
}

// awaitAll waits until all attempts are decided, or one is not in time. It returns the votes, and which attempt failed first, or -1.
// Each master answers to all names together: so when one name is lost, the others soon are as well, and what is told of them is whole.
func (c *Client) awaitAll(ctx context.Context, attempts []*attempt, deadline clock.Instant) (votes [][]script.Vote, failed int, err error) {
	votes, failed = make([][]script.Vote, len(attempts)), -1
	for i, a := range attempts {
		if err == nil {
			err = c.await(ctx, &a.asked, deadline)
		}
		votes[i] = a.asked.Tally()
		if failed < 0 && (err != nil || quorum.Decide(votes[i], a.asked.Need) != quorum.Won) {
			failed = i
		}
	}
	return votes, failed, err
}

// heldByOther reports that masters refused a name because of its own lock, and not
// because of that of another name.
func heldByOther(votes []script.Vote) bool {
	return slices.ContainsFunc(votes, func(v script.Vote) bool { return v.Answer == script.Held && v.Err != script.ErrWithheld })
}

// askForAll asks each master for all names, in one operation.
func (c *Client) askForAll(s *Locks, v *membership.View, names []string, deadline clock.Instant) []*attempt {
	attempts := make([]*attempt, len(names))
	for i, name := range names {
		a := c.prepare(v, name, s.cfg, nowhere)
		a.deadline = deadline
		if len(names) > 1 {
			group := 0
			if i == 0 {
				group = len(names)
			}
			a.call = a.h.JointCall(a.h.Terms(), group)
		}
		attempts[i] = a
	}
	groups := make([]*master.Request, len(c.masters)*len(names))
	for i, a := range attempts {
		requests := a.asked.Requests(len(c.masters))
		for m := range requests {
			requests[m] = master.Request{Order: a.h.Name, Call: a.call, Version: v.Version, To: &a.asked}
			groups[m*len(names)+i] = &requests[m]
		}
	}
	for m := range c.masters {
		if v.Out[m] == nil {
			c.masters[m].SubmitGroup(groups[m*len(names) : (m+1)*len(names)])
			continue
		}
		for _, a := range attempts {
			a.asked.Refused(m)
		}
	}
	return attempts
}

// makeTokens makes a quorum of masters stand at the token of each name, and checks that
// enough is left of the shortest lease.
func (c *Client) makeTokens(ctx context.Context, attempts []*attempt, votes [][]script.Vote) error {
	standing := make([][]script.Vote, len(attempts))
	asked := make([]*quorum.Round, len(attempts))
	c.gather(func() {
		for i, a := range attempts {
			standing[i], asked[i] = a.askToConfirm(votes[i])
		}
	})
	var failed error
	for i, a := range attempts {
		if asked[i] == nil {
			continue
		}
		var err error
		if standing[i], err = a.confirmed(ctx, asked[i], votes[i]); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	for i, a := range attempts {
		if a.h.Count(votes[i], standing[i]).Sub(c.now()) < a.h.Terms().MinLeft() {
			return &QuorumError{Op: opAcquire, Name: a.h.Name, Reason: ErrTooSlow, Need: a.asked.Need, Votes: c.publish(votes[i])}
		}
	}
	return nil
}

// gather lets what submit submits leave for each master in one batch.
func (c *Client) gather(submit func()) { master.Gather(c.masters, submit) }
