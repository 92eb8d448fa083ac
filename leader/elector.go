package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/printable"
)

// The errors of an Elector. Other causes of a term's end are redlock.ErrLost, ErrExpired and
// ErrClosed, and the cause of Run's context.
var (
	// ErrReturned is the cause of a term's end if its function returned. The function's error is
	// joined to it.
	ErrReturned = errors.New("leader: the function returned")

	// ErrResigned is the cause of a term's end by Resign.
	ErrResigned = errors.New("leader: resigned")

	// ErrPanicked is the cause of a term's end if its function panicked, or ended its goroutine.
	ErrPanicked = errors.New("leader: the function panicked")

	// ErrNotLeading is returned by Resign when the candidate does not lead.
	ErrNotLeading = errors.New("leader: not leading")

	// ErrRunning is returned by Run while another Run of the same Elector has not returned.
	ErrRunning = errors.New("leader: it runs already")

	// ErrNoLeader is returned by Leader and Of when no majority of the masters names a leader.
	ErrNoLeader = errors.New("leader: no leader is known")
)

// Elector is a candidate of one election. Make one with New.
type Elector struct {
	config
	client *redlock.Client
	name   string

	mu      sync.Mutex // not held during calls
	running bool
	term    *term // nil if there is no term; a term that is over stays here until its function has returned
}

// term is one term of the candidate.
type term struct {
	lock *redlock.Lock
	ctx  context.Context // of the function
	end  context.CancelCauseFunc
	over chan struct{} // closed when the name is released

	mu      sync.Mutex
	endedAt time.Time   // when ctx ended; zero before that
	overdue *time.Timer // set when ctx ends
	done    bool        // the function has returned
}

// New returns a candidate of the election of that name. The name is also the name of the lock that
// the leader holds. All candidates must use the same name.
//
// Errors: a *redlock.OptionError for each bad input, joined.
func New(client *redlock.Client, name string, opts ...Option) (*Elector, error) {
	if client == nil {
		panic("leader: nil client")
	}
	cfg, err := newConfig(client, name, opts)
	if err != nil {
		return nil, err
	}
	return &Elector{config: cfg, client: client, name: name}, nil
}

// Run campaigns, calls lead when it is elected, and campaigns again when the term is over, until
// ctx ends. It calls lead in the goroutine that called Run, so there is never more than one call of
// lead under way.
//
// The context of lead ends with the term: when the lease was lost or ran out (the cause is
// redlock.ErrLost or ErrExpired), when ctx ended, when the client was closed, or when Resign was
// called. lead must stop then. The context carries the token (fence.FromContext), which lead must
// pass to each store that it writes to. If the term ended for another reason than a lost lease, Run
// keeps the name until lead has returned. If lead does not return, Callbacks.Overdue is called, and
// this process does not campaign.
//
// When lead returns by itself, with an error or without, the term is over: Run releases the name,
// and campaigns again after the pause (WithPause). If lead panics, Run releases the name, and
// the panic goes on through Run. With a nil lead the term lasts until something else ends it. The
// work is then done outside of Run, with the token that Token returns.
//
// Errors: ctx's error and cause; redlock.ErrClosed; redlock.ErrBadOption (lock options that the
// deployment does not allow); redlock.ErrNeedsSetup, if an operator must act first, for example
// because no deployment was founded (with the option WithLock(redlock.WithWaitForSetup()) Run
// campaigns on instead); ErrRunning.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context, token fence.Token) error) error {
	if ctx == nil {
		panic("leader: nil context")
	}
	if !e.start() {
		return ErrRunning
	}
	defer e.stop()
	watching, endWatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer endWatch()
	if notify := e.callbacks.NewLeader; notify != nil {
		watch.Go(func() { _ = Watch(watching, e.client, e.name, e.poll, notify) })
	}
	for {
		lock, err := e.client.Lock(ctx, e.name, e.lock...)
		switch {
		case ctx.Err() != nil && err == nil:
			return printable.Join(printable.ContextError(ctx), lock.Unlock(ctx))
		case ctx.Err() != nil:
			return printable.ContextError(ctx)
		case errors.Is(err, redlock.ErrClosed), errors.Is(err, redlock.ErrBadOption), errors.Is(err, redlock.ErrNeedsSetup):
			return err
		}
		pause := e.pause
		if err != nil { // for example, WithWait is set and has passed
			pause = retryAfter
		} else if cause := e.serve(lock, lead); !errors.Is(cause, ErrReturned) && !errors.Is(cause, ErrResigned) {
			pause = 0
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// retryAfter is the pause after a failed campaign.
const retryAfter = 250 * time.Millisecond

func (e *Elector) start() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	ran := e.running
	e.running = true
	return !ran
}

func (e *Elector) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
}

func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() == nil && d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return printable.ContextError(ctx)
	}
	return nil
}

// serve leads for one term, and returns the cause of the term's end.
func (e *Elector) serve(lock *redlock.Lock, lead func(context.Context, fence.Token) error) (cause error) {
	t := &term{lock: lock, over: make(chan struct{})}
	t.ctx, t.end = context.WithCancelCause(lock.Context())
	e.mu.Lock()
	e.term = t
	e.mu.Unlock()
	watched := context.AfterFunc(t.ctx, func() { t.ended(e.callbacks.Overdue) })

	cause = ErrPanicked // stays if lead does not return
	defer func() {
		watched()
		t.returned()
		t.end(cause)
		e.mu.Lock()
		e.term = nil
		e.mu.Unlock()
		if err := lock.Unlock(context.Background()); err != nil && !errors.Is(cause, err) {
			cause = fmt.Errorf("%w; %w", cause, err)
		}
		defer close(t.over)
		e.callbacks.SteppedDown(lock.Token(), cause)
	}()
	e.callbacks.Elected(lock.Token())
	if lead == nil {
		<-t.ctx.Done()
		return context.Cause(t.ctx)
	}
	err := lead(t.ctx, lock.Token())
	return causeOf(t.ctx, err)
}

// causeOf returns the cause of the end of a term whose function returned err.
func causeOf(ctx context.Context, err error) error {
	cause := ErrReturned
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause) {
			err = nil // the function returned because the term had ended
		}
	}
	if err == nil {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// overdueAfter is the time from the end of a term to the first call of Overdue, if the function has not returned by
// then. Overdue is called again each time that the delay has doubled.
const overdueAfter = time.Second

// ended records that the context of the function has ended, and schedules the calls of Overdue.
func (t *term) ended(overdue func(token fence.Token, by time.Duration)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return
	}
	t.endedAt = time.Now()
	by := time.Duration(0)
	t.overdue = time.AfterFunc(overdueAfter, func() {
		t.mu.Lock()
		done := t.done
		by += max(by, overdueAfter)
		late := by
		if !done {
			t.overdue.Reset(late)
		}
		t.mu.Unlock()
		if !done {
			overdue(t.lock.Token(), late)
		}
	})
}

func (t *term) returned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = true
	if t.overdue != nil {
		t.overdue.Stop()
	}
}

func (e *Elector) current() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

// IsLeader reports whether the candidate can prove at this moment that it leads. The result is advisory: it may
// be out of date when the caller acts on it. It is for displays and metrics; code that writes needs Token, and a store
// that compares tokens.
func (e *Elector) IsLeader() bool {
	_, leads := e.Token()
	return leads
}

// Token returns the token of the present term, and whether there is a term. A store refuses the token once it
// has seen the token of a later leader. So work outside the function of Run may use the token too: such
// work is safe even if it notices too late that the term is over.
func (e *Elector) Token() (token fence.Token, leads bool) {
	t := e.current()
	if t == nil || t.ctx.Err() != nil || !t.lock.Valid() {
		return 0, false
	}
	return t.lock.Token(), true
}

// Overdue returns how long ago the term ended, by the process's own clock, if its function has not
// returned yet; otherwise it returns 0. It is for a liveness probe: a process whose function does
// not return neither leads nor campaigns, and may have to be restarted.
func (e *Elector) Overdue() time.Duration {
	t := e.current()
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done || t.endedAt.IsZero() {
		return 0
	}
	return max(time.Since(t.endedAt), 1)
}

// Resign ends the context of the function at once, and waits until the function has returned and the name is released.
// If ctx ends first, Resign returns early, and the name is released later. The candidate campaigns again after the
// pause; to leave for good, end Run's context.
//
// The function itself must return instead of calling Resign, because Resign waits for the function.
//
// Errors: ErrNotLeading, also if the term has just ended for another reason; ctx's error and cause.
func (e *Elector) Resign(ctx context.Context) error {
	if ctx == nil {
		panic("leader: nil context")
	}
	t := e.current()
	if t == nil {
		return ErrNotLeading
	}
	t.end(ErrResigned)
	if context.Cause(t.ctx) != ErrResigned {
		return ErrNotLeading
	}
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return printable.ContextError(ctx)
	}
}
