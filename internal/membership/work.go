package membership

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Kick has the group look at all masters, and do what is to be done. A step that is under way may
// wait for a master that does not answer: the others are looked at beside it.
func (g *Group) Kick() {
	g.mu.Lock()
	acting := g.acting
	g.again = true
	switch {
	case g.working || g.closed:
		select {
		case g.kicked <- struct{}{}:
		default:
		}
	default:
		g.working = true
		first := !g.rested
		g.tasks.Go(func() { g.work(first) })
	}
	g.mu.Unlock()
	if acting {
		for i := range g.Masters {
			g.look(i)
		}
	}
}

const (
	// lookPatience is how long a step waits for masters that do not report.
	lookPatience = 100 * time.Millisecond

	// finishAfter is how long clients leave a version that is not known to be committed to its
	// proposer. Each client adds a random time up to the same length, so that not all step in at
	// once. Each try that does not finish it doubles that, up to lookAgain. The first look of a
	// client does not wait, as below.
	finishAfter = 100 * time.Millisecond

	// actAfter is how long at most a client waits, at random, before it does what all clients may
	// do. One that has just started does not wait, since others did not find it at the same moment,
	// and it may not live for long. Nor does one that has just taken a step: it goes on.
	actAfter = 200 * time.Millisecond

	// workPause is between two looks at what does not go forward.
	workPause = 10 * time.Millisecond
)

// work looks at the masters, and does what is to be done, until there is nothing. first: there was
// never nothing to be done since the members are known.
func (g *Group) work(first bool) {
	var disputed string // a version that is not known to be committed
	var since clock.Instant
	var patience time.Duration
	var actFrom clock.Instant // 0: there was nothing that all clients may do
	prompt := first           // act at once
	failing := workPause      // grows while steps fail: others do the same, or too few masters answer
	var notBefore clock.Instant
	failed := func() {
		failing = min(2*failing, lookAgain/2)
		notBefore = g.Now().Add(failing/2 + rand.N(failing))
	}
	for g.ctx.Err() == nil {
		g.mu.Lock()
		g.again = false
		g.mu.Unlock()
		g.lookAll(g.ctx)
		outage := g.watchOutages()
		s := g.next()
		if left := notBefore.Sub(g.Now()); left > 0 {
			switch s.(type) {
			case adopt, note, promote, enroll, syncCounters, propose:
				g.nap(left)
				continue
			}
		}
		switch s := s.(type) {
		case finish:
			if s.version != disputed {
				disputed, since = s.version, g.Now()
				patience = finishAfter + rand.N(finishAfter)
				if first {
					patience = 0
				}
			}
			if left := patience - g.Now().Sub(since); left > 0 {
				g.nap(min(left, patience/8))
				continue
			}
			if left := g.turn(); left > 0 {
				since, patience = g.Now(), min(left, lookAgain/2)+rand.N(actAfter)
				continue
			}
			_ = g.act(func() error { return g.change(g.ctx, nil, nil) }) // the next look tells what came of it
			since, patience = g.Now(), max(finishAfter, min(2*patience, lookAgain))
		case adopt, note: // all clients that see it may do so at once
			if g.act(func() error { return g.do(g.ctx, s) }) != nil {
				failed()
			}
		case relook: // at once
		case nothing:
			if g.rest(sooner(s.wait, outage)) {
				return
			}
		case promote:
			left := time.Duration(0)
			err := g.act(func() (err error) {
				left, err = g.promote(g.ctx, s.view, g.turn)
				return err
			})
			if err == nil && left > 0 && g.rest(left) {
				return
			}
			if err != nil {
				failed()
			}
		default:
			if actFrom == 0 {
				actFrom = g.Now().Add(rand.N(actAfter))
				if prompt {
					actFrom = g.Now()
				}
			}
			if left := actFrom.Sub(g.Now()); left > 0 {
				g.nap(left) // others may do it meanwhile, which a Kick tells
				continue
			}
			if left := g.turn(); left > 0 {
				actFrom, prompt = g.Now().Add(min(left, lookAgain/2)+rand.N(actAfter)), false
				continue
			}
			actFrom = 0
			err := g.act(func() error { return g.do(g.ctx, s) })
			if prompt = err == nil; prompt {
				failing = workPause
			} else {
				failed()
			}
		}
	}
	g.mu.Lock()
	g.working = false
	g.mu.Unlock()
	g.tell()
}

// turnFor is for how long a client is the one that changes the members.
const turnFor = 2 * time.Second

// turn makes it this client's turn, and returns how long another client's is. That is a courtesy:
// whatever the member answers, the ballots keep the register safe. If no member answers there is
// none.
func (g *Group) turn() (left time.Duration) {
	if g.making.Load() > 0 { // Make does it
		return turnFor
	}
	s := g.situation()
	members := s.distinct(func(r *report) bool {
		return s.view == nil || r.deployment == s.view.Deployment && (s.view.Table.stateOf(r.id) == Voting || s.view.Table.stateOf(r.id) == Suspended)
	})
	slices.SortFunc(members, func(a, b int) int { return strings.Compare(s.reports[a].id, s.reports[b].id) })
	for n, i := range members {
		timeout := g.Timeout
		if n == 0 {
			timeout = min(timeout, lookPatience) // it may hang
		}
		ctx, cancel := context.WithTimeout(g.ctx, timeout)
		ms, err := g.Masters[i].EvalInt(ctx, turnScript, []string{g.key}, s.reports[i].id, g.me, turnFor.Milliseconds())
		cancel()
		if err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 0
}

// sooner returns the shorter one of two pauses, of which 0 has no end.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// act carries out a step.
func (g *Group) act(step func() error) error {
	acting := func(is bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.acting = is
	}
	acting(true)
	defer acting(false)
	return step()
}

// rest ends the work until something happens, or so much time has passed (0: for good). It reports
// false if something has happened already.
func (g *Group) rest(wait time.Duration) bool {
	g.mu.Lock()
	if g.again {
		g.mu.Unlock()
		return false
	}
	g.working = false
	g.rested = g.rested || g.view.Load() != nil
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

// nap waits before the next look, but not much longer than until a Kick: there is something to
// learn then.
func (g *Group) nap(d time.Duration) {
	g.sleep(min(d, workPause))
	if d -= workPause; d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.kicked:
	case <-g.ctx.Done():
	}
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
		if !slices.Contains(g.looking, true) && !slices.Contains(g.pushing, true) {
			return true
		}
		i, _ := g.now().returning()
		return i >= 0 // it need not wait for masters that do not report
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
	return g.now()
}

// now is situation for callers that hold mu.
func (g *Group) now() situation {
	s := situation{view: g.view.Load(), names: g.names, seen: slices.Clone(g.seen), runs: slices.Clone(g.runs), reports: slices.Clone(g.reports), unable: make([]bool, len(g.reports))}
	for i, until := range g.unableUntil {
		s.unable[i] = g.Now().Before(until)
	}
	for i, err := range g.failures {
		if err != nil {
			s.reports[i] = nil // nothing that it said before holds for sure
		}
	}
	l := learn(s.reports, g.known)
	if deployment, err := l.deployment(s.view.had(s.names, s.seen, s.reports)); err == nil && deployment != "" {
		s.highest = l.accepted[deployment]
		if s.highest > l.committed[deployment] && (s.view == nil || s.highest > s.view.Version) {
			s.uncommitted = s.highest
		}
	}
	return s
}

func (g *Group) next() step { return g.situation().next() }

// do carries out a step. If it fails at a master, do leaves that master alone for a while. So the
// others do not wait for a master that is out of memory, for example.
func (g *Group) do(ctx context.Context, s step) error {
	at := func(master int, err error) error {
		if err != nil {
			g.mu.Lock()
			g.unableUntil[master] = g.Now().Add(lookAgain)
			g.mu.Unlock()
		}
		return err
	}
	switch s := s.(type) {
	case adopt:
		return at(s.master, g.adopt(ctx, s.master))
	case note:
		return at(s.master, g.noteWeak(ctx, s.master, s.weak))
	case enroll:
		return at(s.master, g.enroll(ctx, s.master, s.view))
	case syncCounters:
		return at(s.master, g.syncNew(ctx, s.master, s.view))
	case propose:
		return g.change(ctx, s.view, s.table)
	}
	return errors.New("nothing to do")
}
