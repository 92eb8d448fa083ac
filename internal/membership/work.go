package membership

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Kick has the group look at all masters, and do what is to be done.
func (g *Group) Kick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.again = true
	if g.working || g.closed {
		return
	}
	g.working = true
	g.tasks.Go(g.work)
}

const (
	// lookPatience is how long a step waits for masters that do not report.
	lookPatience = 100 * time.Millisecond

	// finishAfter is how long a version that is not known to be committed is left to who
	// proposed it; up to as long again is added, so that not all step in at once.
	finishAfter = 100 * time.Millisecond

	// actAfter is how long at most a client waits, at random, before it does what all
	// clients may do.
	actAfter = 200 * time.Millisecond

	// workPause is between two looks at what does not go forward.
	workPause = 10 * time.Millisecond
)

// work looks at the masters, and does what is to be done, until there is nothing.
func (g *Group) work() {
	var disputed string // a version that is not known to be committed
	var since clock.Instant
	var patience time.Duration
	rested := false
	for g.ctx.Err() == nil {
		g.mu.Lock()
		g.again = false
		g.mu.Unlock()
		g.lookAll(g.ctx)
		s := g.next()
		switch s := s.(type) {
		case finish:
			if s.version != disputed {
				disputed, since = s.version, g.Now()
				patience = finishAfter + rand.N(finishAfter)
			}
			if g.Now().Sub(since) < patience {
				g.sleep(workPause)
				continue
			}
			_ = g.change(g.ctx, nil, nil) // the next look tells what came of it
			disputed = ""
			continue
		case nothing:
			if g.rest(s.wait) {
				return
			}
		case promote:
			left, err := g.promote(g.ctx, s.view)
			if err == nil && left > 0 && g.rest(left) {
				return
			}
			if err != nil {
				g.sleep(workPause + rand.N(finishAfter))
			}
		default:
			if !rested {
				rested = true
				g.sleep(rand.N(actAfter))
				continue
			}
			rested = false
			if err := g.do(g.ctx, s); err != nil {
				g.sleep(workPause + rand.N(finishAfter))
			}
		}
	}
	g.mu.Lock()
	g.working = false
	g.mu.Unlock()
	g.tell()
}

// rest ends the work until something happens, or so much time has passed (0: for good). It
// reports false if something has happened already.
func (g *Group) rest(wait time.Duration) bool {
	g.mu.Lock()
	if g.again {
		g.mu.Unlock()
		return false
	}
	g.working = false
	if wait > 0 && !g.closed {
		wait += rand.N(actAfter)
		if g.timer == nil {
			g.timer = time.AfterFunc(wait, g.Kick)
		} else {
			g.timer.Reset(wait)
		}
	}
	g.mu.Unlock()
	g.tell()
	return true
}

func (g *Group) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-g.ctx.Done():
	}
}

// lookAll asks all masters for reports, and waits for them, but not for long.
func (g *Group) lookAll(ctx context.Context) {
	for i := range g.Masters {
		g.look(i)
	}
	g.until(ctx, lookPatience, func() bool {
		return !slices.Contains(g.looking, true) && !slices.Contains(g.pushing, true)
	})
}

// lookFully is lookAll, and waits for as long as a master may take to report.
func (g *Group) lookFully(ctx context.Context) {
	g.lookAll(ctx)
	g.until(ctx, g.Timeout, func() bool { return !slices.Contains(g.looking, true) })
}

// situation is what the steps are decided on.
func (g *Group) situation() situation {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := situation{view: g.view.Load(), names: g.names, reports: append([]*report(nil), g.reports...)}
	for i, err := range g.failures {
		if err != nil {
			s.reports[i] = nil // nothing that it said before holds for sure
		}
	}
	l := learn(s.reports, g.known)
	if deployment, err := l.deployment(s.view.had()); err == nil && deployment != "" {
		s.highest = l.accepted[deployment]
		if s.highest > l.committed[deployment] && (s.view == nil || s.highest > s.view.Version) {
			s.uncommitted = s.highest
		}
	}
	return s
}

func (g *Group) next() step { return g.situation().next() }

// do carries out a step.
func (g *Group) do(ctx context.Context, s step) error {
	switch s := s.(type) {
	case enroll:
		return g.enroll(ctx, s.master, s.view)
	case syncCounters:
		return g.syncNew(ctx, s.master, s.view)
	case propose:
		return g.change(ctx, s.view, s.table)
	}
	return errors.New("nothing to do")
}
