package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/lease"
)

// want is the body of a request to lock.
type want struct {
	Name    string   `json:"name"`
	Names   []string `json:"names"`
	Mode    string   `json:"mode"`
	Wait    int64    `json:"wait_ms"`
	TTL     int64    `json:"ttl_ms"`
	AtLeast int64    `json:"hold_at_least_ms"`
}

// The modes. The default is modeWrite.
const (
	modeWrite = "write"
	modeRead  = "read"
)

// check normalizes the names and the mode, and returns what is wrong with the request, except for faults that
// the library reports.
func (w *want) check() error {
	if (w.Name == "") == (len(w.Names) == 0) {
		return badRequest("name", w.Name, "must be given, or names, and not both")
	}
	if w.Name != "" {
		w.Names, w.Name = []string{w.Name}, ""
	}
	if w.Mode == "" {
		w.Mode = modeWrite
	}
	if w.Mode != modeWrite && w.Mode != modeRead {
		return badRequest("mode", w.Mode, `must be "write" or "read"`)
	}
	if w.Mode == modeRead && len(w.Names) > 1 {
		return badRequest("mode", w.Mode, "must not be given for several names")
	}
	for _, name := range w.Names {
		if strings.ContainsRune(name, '\uFFFD') {
			return badRequest("name", name, "must be valid UTF-8: a name of other bytes cannot be encoded in JSON")
		}
	}
	for _, number := range []struct {
		field string
		value int64
	}{{"wait_ms", w.Wait}, {"ttl_ms", w.TTL}, {"hold_at_least_ms", w.AtLeast}} {
		if number.value < 0 || number.value > math.MaxInt64/int64(time.Millisecond) {
			return badRequest(number.field, number.value, "must be milliseconds, 0 or more")
		}
	}
	return nil
}

// duration converts milliseconds that check() accepted.
func duration(millis int64) time.Duration { return time.Duration(millis) * time.Millisecond }

// options returns the options of the library for the request, with the given wait.
func (w *want) options(wait time.Duration) []redlock.LockOption {
	options := []redlock.LockOption{redlock.WithWait(wait)}
	if w.TTL > 0 {
		options = append(options, redlock.WithTTL(duration(w.TTL)))
	}
	if w.AtLeast > 0 {
		options = append(options, redlock.WithHoldAtLeast(duration(w.AtLeast)))
	}
	return options
}

// held is a *redlock.Lock or a *redlock.Locks.
type held interface {
	Context() context.Context
	Valid() bool
	Extend(ctx context.Context, ttl time.Duration) error
	Unlock(ctx context.Context) error
}

// acquire acquires a lock, and extends its lease if the lease is short. If it cannot extend the lease, it releases
// the lock, and acquires it again while the request's wait lasts. With an error it may return a lock that the caller has
// to release.
func (a *Agent) acquire(ctx context.Context, w want) (held, error) {
	end := a.now().Add(duration(w.Wait))
	for {
		lock, err := a.ask(ctx, w, max(end.Sub(a.now()), 0))
		if err != nil {
			return nil, err
		}
		err = a.whole(ctx, lock)
		if err == nil {
			return lock, nil
		}
		if ctx.Err() != nil || !a.now().Before(end) {
			return lock, err
		}
		_ = discard(lock) // the observer reports errors
	}
}

// discard unlocks a lock that no program got. The name does not stay taken for WithHoldAtLeast.
func discard(lock held) error {
	for _, h := range holds(lock) {
		h.Unused()
	}
	return lock.Unlock(context.Background())
}

// whole extends the lease of a lock if less than two thirds of the ttl are left. (A renewed lease always has more.)
// If a release granted the lock, the lease lasts a second at most. With such a lease, a program could lose the lock
// before its next request, because it sends only a few requests in each ttl of its session.
func (a *Agent) whole(ctx context.Context, lock held) error {
	ttl := holds(lock)[0].Terms().TTL // one call acquired all holds, so they have the same ttl
	if until(lock).Sub(a.now()) >= ttl*2/3 {
		return nil
	}
	err := lock.Extend(ctx, ttl)
	if errors.Is(err, redlock.ErrLost) || errors.Is(err, redlock.ErrExpired) { // for the program the lock was never acquired
		return fmt.Errorf("%w: a release granted it, and the lease ended before it was renewed", redlock.ErrNotAcquired)
	}
	return err
}

// holds returns the holds of a lock, one for each name.
func holds(lock held) []*lease.Hold {
	if all, are := lock.(*redlock.Locks); are {
		return redlock.Inside(core.Key{}).Holds(all)
	}
	return redlock.Inside(core.Key{}).Holds(lock.(*redlock.Lock))
}

// until returns the time on the client's clock at which the first of the lock's leases ends if nothing renews them.
func until(lock held) clock.Instant {
	first := clock.Instant(math.MaxInt64)
	for _, h := range holds(lock) {
		first = min(first, h.Until())
	}
	return first
}

// ask acquires the lock from the masters.
func (a *Agent) ask(ctx context.Context, w want, wait time.Duration) (held, error) {
	some := func(lock held, err error) (held, error) { // on an error it returns a nil interface, not a nil pointer
		if err != nil {
			return nil, err
		}
		return lock, nil
	}
	switch options := w.options(wait); {
	case len(w.Names) > 1:
		return some(a.client.LockAll(ctx, w.Names, options...))
	case w.Mode == modeRead:
		return some(a.client.RLock(ctx, w.Names[0], options...))
	default:
		return some(a.client.Lock(ctx, w.Names[0], options...))
	}
}

// entry is a lock of a session, from the first request for the lock to the end of the lock. The session's mutex guards
// the fields lock, err and unfreed until the channel decided is closed. After that, these do not change.
type entry struct {
	id      string
	want    want
	cancel  context.CancelCauseFunc // called with the mutex, it ends the wait, which then fails with the cause
	decided chan struct{}           // closed when lock or err is set
	lock    held
	err     error
	unfreed error // with err: why a lock that was acquired in vain may not be free; nil: it is free, or there was none
}

// lock waits for the lock with this id, and returns how long the program may count on it. A repeated request
// gets the outcome of the first. The wait does not end with the request's connection, because a program
// that got no answer repeats its request.
func (s *session) lock(ctx context.Context, id string, w want) (lockAnswer, error) {
	e, err := s.join(id, w)
	if err != nil {
		return lockAnswer{}, err
	}
	select {
	case <-e.decided:
	case <-ctx.Done():
		return lockAnswer{}, errGone
	}
	if e.err != nil {
		return lockAnswer{}, e.err
	}
	return s.look(id)
}

// join returns the entry with this id. If there is none, it makes one, and starts the wait for its lock.
func (s *session) join(id string, w want) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.entered(); err != nil {
		return nil, err
	}
	if e, known := s.entries[id]; known {
		if !reflect.DeepEqual(e.want, w) {
			return nil, errReused
		}
		return e, nil
	}
	if p := s.past.find(id); p != nil {
		return nil, p.over()
	}
	cfg := s.agent.config
	switch {
	case s.agent.draining(): // with s.mu held: otherwise a drain could end the session's waits before this one begins
		return nil, errDraining
	case len(s.entries) >= cfg.MaxLocks:
		return nil, limited("locks of a session", cfg.MaxLocks, "unlock some")
	case s.agent.waiting.Add(1) > int64(cfg.MaxWaiters):
		s.agent.waiting.Add(-1)
		return nil, limited("locks that are waited for", cfg.MaxWaiters, "ask again later")
	}
	e := &entry{id: id, want: w, decided: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(s.ctx)
	e.cancel = cancel
	s.entries[id] = e
	s.agent.work.Go(func() { s.wait(ctx, e) })
	return e, nil
}

// wait acquires the lock. If meanwhile the wait was ended (by an unlock, by the end of the session or by a drain), wait
// releases the lock, because the lock's context has ended, too, and cannot report a loss.
func (s *session) wait(ctx context.Context, e *entry) {
	lock, err := s.agent.acquire(ctx, e.want)
	s.agent.waiting.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && ctx.Err() == nil {
		e.lock = lock
		close(e.decided)
		s.publish(event{Event: "held", Lock: e.id, Names: e.want.Names})
		context.AfterFunc(lock.Context(), func() { s.lost(e) })
		return
	}
	if lock != nil {
		s.mu.Unlock()
		released := discard(lock)
		s.mu.Lock()
		if errors.Is(released, redlock.ErrNoQuorum) { // after another error, the lock is no longer ours
			e.unfreed = released
		}
	}
	e.err = err
	if cause := context.Cause(ctx); cause != nil {
		e.err = cause
	}
	if s.entries[e.id] == e { // the program may retry with the same id
		delete(s.entries, e.id)
	}
	close(e.decided)
	e.cancel(nil)
}

// lost removes the entry of a lock that was lost, and sends the event.
func (s *session) lost(e *entry) {
	cause := context.Cause(e.lock.Context())
	if !errors.Is(cause, redlock.ErrLost) && !errors.Is(cause, redlock.ErrExpired) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[e.id] != e {
		return
	}
	delete(s.entries, e.id)
	s.past.add(e.id).end(cause)
	e.cancel(nil)
	p := problemOf(cause)
	s.publish(event{Event: "lost", Lock: e.id, Names: e.want.Names, Problem: &p})
}

// find returns the entry of a lock that is held, or an error. The caller must hold s.mu.
func (s *session) find(id string) (*entry, error) {
	if err := s.entered(); err != nil {
		return nil, err
	}
	if e, known := s.entries[id]; known {
		if e.lock == nil {
			return nil, errWaiting
		}
		return e, nil
	}
	if p := s.past.find(id); p != nil {
		return nil, p.over()
	}
	return nil, errNoLock
}

// lockAnswer is the answer to a request for a lock that is held.
type lockAnswer struct {
	ID       string                 `json:"id"`
	State    string                 `json:"state"` // "held"
	Names    []string               `json:"names"`
	Mode     string                 `json:"mode"`
	Token    fence.Token            `json:"token,omitzero"`  // of one name in modeWrite
	Tokens   map[string]fence.Token `json:"tokens,omitzero"` // of several names
	ValidFor int64                  `json:"valid_for_ms"`
	Draining bool                   `json:"draining"`
}

// look returns how long the program may count on a lock.
func (s *session) look(id string) (lockAnswer, error) {
	draining := s.agent.draining()
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(id)
	if err != nil {
		return lockAnswer{}, err
	}
	a, err := s.describe(e)
	a.Draining = draining
	return a, err
}

// describe returns the answer for an entry. The clock is read last, so that a pause until then counts: the lock may
// have expired although no timer has fired yet. The caller must hold s.mu.
func (s *session) describe(e *entry) (lockAnswer, error) {
	if e.lock == nil {
		return lockAnswer{}, errWaiting
	}
	a := lockAnswer{ID: e.id, State: "held", Names: e.want.Names, Mode: e.want.Mode}
	switch lock := e.lock.(type) {
	case *redlock.Lock:
		a.Token = lock.Token()
	case *redlock.Locks:
		a.Names, a.Tokens = lock.Names(), lock.Tokens()
	}
	end := until(e.lock)
	if !e.lock.Valid() {
		if cause := context.Cause(e.lock.Context()); cause != nil {
			return lockAnswer{}, cause
		}
		return lockAnswer{}, redlock.ErrExpired
	}
	a.ValidFor = s.validFor(end).Milliseconds()
	return a, nil
}

// extend makes the lease of a lock last for ttl from now, and returns how long the program may count on the lock.
func (s *session) extend(ctx context.Context, id string, ttl time.Duration) (lockAnswer, error) {
	s.mu.Lock()
	e, err := s.find(id)
	s.mu.Unlock()
	if err != nil {
		return lockAnswer{}, err
	}
	if err := e.lock.Extend(ctx, ttl); err != nil {
		return lockAnswer{}, err
	}
	return s.look(id)
}

// releaseAnswer is the answer to an unlock.
type releaseAnswer struct {
	ID    string `json:"id"`
	State string `json:"state"` // "released"
	Freed bool   `json:"freed"` // false: too few masters answered; the name may stay taken for a ttl
}

// unlock ends the lock with this id, or the wait for it. A later request to lock with this id fails. A
// repeated unlock gets the same answer.
func (s *session) unlock(id string) (releaseAnswer, error) {
	s.mu.Lock()
	if err := s.entered(); err != nil {
		s.mu.Unlock()
		return releaseAnswer{}, err
	}
	if p := s.past.find(id); p != nil {
		s.mu.Unlock()
		<-p.done
		return p.answer()
	}
	e := s.entries[id]
	delete(s.entries, id)
	p := s.past.add(id)
	if e != nil && e.lock == nil {
		e.cancel(redlock.ErrReleased)
	}
	s.mu.Unlock()
	switch {
	case e == nil:
		p.end(nil)
	case e.lock == nil:
		<-e.decided
		p.end(e.unfreed)
	default:
		p.end(e.lock.Unlock(context.Background()))
		e.cancel(nil)
	}
	s.mu.Lock()
	s.publish(event{Event: "released", Lock: id})
	s.mu.Unlock()
	return p.answer()
}

// keptPast is how many ended locks a session remembers. A request for a lock that is forgotten counts as a
// new request, even if it is a repeated one.
const keptPast = 1000

// past remembers the outcome of the last keptPast locks.
type past struct {
	order []*ending
	by    map[string]*ending
}

// ending is the outcome of a lock that was unlocked or lost.
type ending struct {
	id   string
	done chan struct{} // closed when err is set
	err  error
}

func (p *past) find(id string) *ending { return p.by[id] }

func (p *past) add(id string) *ending {
	if p.by == nil {
		p.by = map[string]*ending{}
	}
	if len(p.order) >= keptPast {
		delete(p.by, p.order[0].id)
		p.order = slices.Delete(p.order, 0, 1)
	}
	e := &ending{id: id, done: make(chan struct{})}
	p.order = append(p.order, e)
	p.by[id] = e
	return e
}

func (e *ending) end(err error) {
	e.err = err
	close(e.done)
}

// over returns the error for a request that comes after the end of the lock.
func (e *ending) over() error {
	select {
	case <-e.done:
		if errors.Is(e.err, redlock.ErrLost) || errors.Is(e.err, redlock.ErrExpired) {
			return e.err
		}
	default:
	}
	return fmt.Errorf("%w: a new lock needs a new id", redlock.ErrReleased)
}

func (e *ending) answer() (releaseAnswer, error) {
	a := releaseAnswer{ID: e.id, State: "released", Freed: e.err == nil}
	if errors.Is(e.err, redlock.ErrNoQuorum) {
		return a, nil
	}
	return a, e.err
}
