package ask

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Asker asks the masters of one client. Its exported fields are set before the first call.
type Asker struct {
	Masters        []*master.Master
	Members        *membership.Group
	Now            func() clock.Instant
	RequestTimeout time.Duration
	Closed         context.Context // ends when the client begins to close

	timers  sync.Pool // of *time.Timer
	signals sync.Pool // of chan struct{}
}

// Deadline returns the time by which a call that begins now must have its answers.
func (a *Asker) Deadline() clock.Instant { return a.Now().Add(a.RequestTimeout) }

// Ended returns why a call must end: ctx's error and cause if ctx has ended, or ErrClosed if the client is
// closed. Otherwise it returns nil.
func (a *Asker) Ended(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return printable.ContextError(ctx)
	case a.Closed.Err() != nil:
		return master.ErrClosed
	}
	return nil
}

// Await waits until r is decided or the deadline has passed. If ctx ends or the client is closed
// earlier, it returns an error. Some masters may have no vote in r, or refuse its version. Then
// Await also returns as soon as the view has another version, or one of these masters has a vote. It
// does not wait for others, which may hang. NewerView then returns the view for another round.
func (a *Asker) Await(ctx context.Context, r *quorum.Round, deadline clock.Instant) error {
	timer := a.Timer(deadline.Sub(a.Now()))
	defer a.PutTimer(timer)
	decided := a.listen(r)
	defer a.stopListening(r, decided)
	var changed <-chan struct{}
	for {
		select {
		case <-decided:
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return printable.ContextError(ctx)
		case <-a.Closed.Done():
			return master.ErrClosed
		}
		if r.Decided() {
			return nil
		}
		var overtaken bool
		if overtaken, changed = a.Members.Overtaken(r.View, r.Outdated()); overtaken {
			r.Overtake()
			return nil
		}
	}
}

// AwaitFreed waits until a quorum of masters has executed a release of name. No context stops it:
// an Unlock's context has often ended by then, and a client that closes lets releases finish.
func (a *Asker) AwaitFreed(freed *quorum.Round, name string, deadline clock.Instant) error {
	timer := a.Timer(deadline.Sub(a.Now()))
	defer a.PutTimer(timer)
	decided := a.listen(freed)
	defer a.stopListening(freed, decided)
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
	votes := freed.Votes()
	reason := ErrNoQuorum
	if quorum.Disowned(votes, freed.Majority) {
		reason = quorum.ErrLost
	}
	return FailureOf(freed.View, OpRelease, name, reason, votes)
}

// Pause waits for d. It returns an error if ctx ends or the client is closed before d has passed.
func (a *Asker) Pause(ctx context.Context, d time.Duration) error {
	timer := a.Timer(d)
	defer a.PutTimer(timer)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return printable.ContextError(ctx)
	case <-a.Closed.Done():
		return master.ErrClosed
	}
}

// Question asks all masters a question that changes nothing, and waits for the verdict. Then it
// drops the requests that are still unsent.
func (a *Asker) Question(ctx context.Context, asked *quorum.Round, name string, call script.Call, deadline clock.Instant) error {
	requests := asked.Requests(len(a.Masters))
	for i := range requests {
		requests[i] = master.Request{Order: name, Call: call, Version: asked.View.Version, To: asked}
	}
	asked.Ask(a.Masters)
	defer asked.Abandon()
	return a.Await(ctx, asked, deadline)
}

// Gather calls submit. Each master gets, in one batch, all requests that submit makes.
func (a *Asker) Gather(submit func()) { master.Gather(a.Masters, submit) }

// listen returns a channel that receives a value at the verdict of r. The channel is from the pool.
func (a *Asker) listen(r *quorum.Round) chan struct{} {
	decided, ok := a.signals.Get().(chan struct{})
	if !ok {
		decided = make(chan struct{}, 1)
	}
	r.Notify(decided)
	return decided
}

// stopListening returns the channel to the pool.
func (a *Asker) stopListening(r *quorum.Round, decided chan struct{}) {
	r.Notify(nil)
	select {
	case <-decided:
	default:
	}
	a.signals.Put(decided)
}

// Timer returns a timer from the pool, set to d.
func (a *Asker) Timer(d time.Duration) *time.Timer {
	if t, ok := a.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// PutTimer returns a timer to the pool. (Since Go 1.23 a timer that was stopped or reset has
// nothing left in its channel.)
func (a *Asker) PutTimer(t *time.Timer) {
	t.Stop()
	a.timers.Put(t)
}
