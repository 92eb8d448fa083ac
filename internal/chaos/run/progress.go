//go:build unix

package run

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

const progressEvery = 5 * time.Second

// settled is how old an event must be for the sweep of a history that is being written: all that
// came before it has been written by then.
const settled = time.Second

// showProgress prints a line every few seconds, until stop is called. The history up to then is
// swept for it: violations show when they happen.
func (r *round) showProgress(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	reader := history.NewReader(r.dir)
	shown.Go(func() {
		for {
			fault.Wait(ctx, progressEvery)
			if ctx.Err() != nil {
				return
			}
			until := r.out.Clock().Now() - settled
			events, err := reader.Read()
			if err != nil {
				fmt.Fprintf(r.Log, "chaos: %v\n", err)
				continue
			}
			late := slices.IndexFunc(events, func(e history.Event) bool { return e.At > until })
			if late >= 0 {
				events = events[:late]
			}
			r.show(check.Sweep(events, r.bounds()))
		}
	})
	return func() {
		cancel()
		shown.Wait()
	}
}

func (r *round) show(v check.Verdict) {
	fmt.Fprintf(r.Log, "chaos: round %d, %v of %v: %d faults, %d operations, %d overlaps provoked, %d stale accesses refused, %d violations\n",
		r.number, time.Since(r.began).Round(time.Second), r.phases.Total(), v.Faults, v.Operations, v.Overlaps, v.Refused, len(v.Violations))
}
