package work

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// relay shares a lock with the relay of another client. By the clock that all clients have, one
// locks and unlocks it, the other tries to do so right after, and so on in turn. What an unlock
// leaves behind is in the way of that try.
type relay struct {
	worker
	took time.Duration // by this one, the last time that it got the lock
}

func newRelay(w worker) *relay {
	first := w.Number &^ 1
	w.private = fmt.Sprintf("%s-between-c%d-and-c%d", w.Names[0], first, first+1)
	w.chance = rand.New(rand.NewPCG(w.Seed, uint64(w.Number)<<32|uint64(w.Life)<<16|0xffff))
	return &relay{worker: w}
}

// turn is how long a turn is. It is longer than the checks give a lock that was asked for in vain
// to be free again (check.Bounds.GiveBack), and short beside a ttl, so that many fall in the time
// within the fault model.
func (s Settings) turn() time.Duration { return max(min(s.TTL, 1250*time.Millisecond), s.TTL/8) }

// triesInTurn is how often each of the two locks it in a turn.
const triesInTurn = 3

func (r *relay) run(ctx context.Context) {
	for ctx.Err() == nil {
		turn := r.calls.out.Now()/r.turn() + 1
		for i := range time.Duration(triesInTurn) {
			after := 2 * i
			if !r.goesFirst(turn) {
				after++
			}
			// The other one takes about as long, and is done before the next try of this one, or is
			// not.
			r.sleepUntil(ctx, turn*r.turn()+min(after*r.took*3/2+r.upTo(r.took/2+1), r.turn()/2))
			if ctx.Err() == nil {
				r.lockAndUnlock(ctx)
			}
		}
	}
}

func (r *relay) sleepUntil(ctx context.Context, at time.Duration) {
	r.sleep(ctx, at-r.calls.out.Now())
}

func (r *relay) goesFirst(turn time.Duration) bool { return int(turn%2) == r.Number%2 }

func (r *relay) lockAndUnlock(ctx context.Context) {
	began := r.calls.out.Now()
	if e, ok := r.lock(ctx, r.private, history.Event{Depth: 1, TTL: r.TTL}, redlock.WithoutWatchdog()); ok {
		r.leave([]entry{e})
		r.took = r.calls.out.Now() - began
	}
}
