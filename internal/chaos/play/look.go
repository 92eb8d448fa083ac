package play

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// looks records the members after each fault that changes them. The checks need these records, because a change may
// have been refused, or left unfinished.
type looks struct {
	round  *Round
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	changes int // how many changes have ended
}

// newLooks makes r look at the members after each change. The caller must call looks.end.
func newLooks(r *Round) *looks {
	l := &looks{round: r}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	emit := r.Env.Emit
	r.Env.Emit = func(e history.Event) {
		f, err := fault.Parse(e.Fault)
		if e.Kind != history.FaultEnds || err != nil || f.Unsettles() == 0 {
			emit(e)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		emit(e)
		l.changes++
		n := l.changes
		l.all.Go(func() { l.look(n) })
	}
	return l
}

// end stops all looks, and waits until they have ended. The caller must make sure that no fault is under way.
func (l *looks) end() {
	l.cancel()
	l.all.Wait()
}

// look records the members after the n-th change, as soon as all members vote. It gives up after some tries, or if
// another change ends before: then the look after the other change records the members.
func (l *looks) look(n int) {
	const tries, pause = 10, 200 * time.Millisecond
	for range tries {
		fault.Wait(l.ctx, pause)
		members, settled := l.round.Operator.Voting(l.ctx)
		l.mu.Lock()
		over := l.changes != n || l.ctx.Err() != nil
		if settled && !over {
			l.round.Log.Write(history.Event{Kind: history.Members, Masters: members.String()})
		}
		l.mu.Unlock()
		if settled || over {
			return
		}
	}
}
