package workload

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/bench/internal/clock"
)

// afterError keeps a worker whose calls fail at once from spinning.
const afterError = time.Millisecond

// distinct takes and gives back the worker's own name. What ends in the window counts, whenever it
// began: so slow pairs are not missed at its end.
func (c *crew) distinct(ctx context.Context, worker int, w window) sample {
	var s sample
	s.Counts = []int{0}
	client, name := c.client(worker), c.own(worker)
	for {
		called := clock.Now()
		if w.past(called) {
			return s
		}
		held, err := client.Lock(ctx, name, false)
		had := clock.Now()
		if err == nil {
			err = held.Unlock(ctx)
		}
		freed := clock.Now()
		switch {
		case !w.has(freed):
		case err != nil:
			s.fail(err)
		default:
			s.Counts[0]++
			s.Waits = append(s.Waits, time.Duration(had-called))
			s.Pairs = append(s.Pairs, time.Duration(freed-called))
		}
		if err != nil {
			time.Sleep(afterError)
		}
	}
}

// contend waits for the shared name, holds it and gives it back, and checks that nobody else has
// it. Who waits when the window ends is still served: without that, the longest waits would be
// missing. Holds count in the window alone.
func (c *crew) contend(ctx context.Context, worker int, w window) sample {
	var s sample
	s.Counts = []int{0}
	client, name, id := c.client(worker), c.Contender+"-shared", int64(c.First+worker+1)
	for {
		called := clock.Now()
		if w.past(called) || ctx.Err() != nil {
			return s
		}
		held, err := client.Lock(ctx, name, true)
		if err != nil {
			s.fail(err)
			time.Sleep(afterError)
			continue
		}
		had := clock.Now()
		handover, follows := c.check.Enter(id, held.Token())
		if c.Hold > 0 {
			clock.SleepUntil(had + int64(c.Hold))
		}
		c.check.Leave(id)
		if err := held.Unlock(ctx); err != nil {
			s.fail(err)
		}
		if had > w.From {
			s.Waits = append(s.Waits, time.Duration(had-called))
		}
		if w.has(had) {
			s.Counts[0]++
			s.Pairs = append(s.Pairs, time.Duration(clock.Now()-called))
			if follows {
				s.Handovers = append(s.Handovers, handover)
			}
		}
	}
}
