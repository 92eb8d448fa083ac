package work

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// prober takes a lock that nobody else wants, again and again at a fixed pace, and gives it back at
// once: how long that takes tells package latency.
type prober struct {
	worker
	pace time.Duration
}

const probeMark = "-probe-of-"

// IsProbe reports whether the lock of that name is a prober's.
func IsProbe(name string) bool { return strings.Contains(name, probeMark) }

func newProber(w worker) *prober {
	// A name for each life: the lock of a life that was killed is not in the way of the next.
	w.private = fmt.Sprintf("%s%sc%d-%d", w.Names[0], probeMark, w.Number, w.Life)
	return &prober{w, w.Probe}
}

func (p *prober) run(ctx context.Context) {
	tick := time.NewTicker(p.pace)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.probe(ctx)
	}
}

// probe tries again soon when it fails: the next tick would come late, and count as time for the
// lock.
func (p *prober) probe(ctx context.Context) {
	for ctx.Err() == nil {
		if e, ok := p.lock(ctx, p.private, history.Event{Depth: 1, TTL: p.TTL}, redlock.WithoutWatchdog()); ok {
			p.holds.begin(e)
			p.leave([]entry{e})
			p.holds.end(e)
			return
		}
		p.sleep(ctx, p.pace/10)
	}
}
