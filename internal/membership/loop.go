package membership

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/printable"
)

const (
	// lookTimeout is how long a step waits for masters that do not report.
	lookTimeout = 100 * time.Millisecond

	// actAfter is the longest random wait of a client before a step that only one client at a time may
	// take. A client that has just taken a step does not wait. A client that has just started does not
	// wait either: it may not live for long, and another client is rarely about to take the same step.
	actAfter = 200 * time.Millisecond

	// leastPause is the first pause after a failed step, and the first pause between looks while an
	// operator's change waits. Each further pause is twice as long, up to lookAgain.
	leastPause = 10 * time.Millisecond
)

// loop decides on the next step whenever there is news, and takes one step at a time.
func (g *Group) loop() {
	l := loop{Group: g, done: make(chan error, 1), outageStarts: outageStarts{}, starting: true}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-g.woken:
		case <-timer.C:
			l.due()
		case err := <-l.done:
			l.took(err)
		case <-g.ctx.Done():
			return
		}
		timer.Stop()
		if wait := l.decide(); wait > 0 {
			timer.Reset(wait)
		}
	}
}

// loop is the state that only Group.loop uses.
type loop struct {
	*Group
	shown        *View           // the view with which Learned was last called
	shownAt      clock.Instant   // when the version of that view was learned
	sent         map[string]bool // the names that were sent to members at that version
	outageStarts outageStarts
	done         chan error // receives the result of the step that is under way
	acting       step       // the step that is under way; nil: no step is

	lookAt   clock.Instant // when the last look at all masters began; it ends by lookTimeout later, even if a master does not report
	fresh    uint64        // the number of the look that must have ended before a step is taken
	rest     nothing       // the looks to begin when restEnds has come, if no step was taken before
	restEnds clock.Instant // 0: never

	starting bool          // there has been a step to take ever since the members became known
	from     clock.Instant // the next step may be taken from this time on; 0: there was no step to take
	pause    time.Duration // the pause after the last failed step
}

// due begins the looks of l.rest, if restEnds has come.
func (l *loop) due() {
	if l.restEnds == 0 || l.Now().Before(l.restEnds) {
		return
	}
	l.restEnds = 0
	if l.rest.at == nil || l.Now().Sub(l.lookAt) >= settingsAgain {
		l.Kick()
	}
	for _, i := range l.rest.at {
		l.look(i)
	}
}

// decide starts the next look or step. It returns the time after which the loop must decide again even
// without news; 0 means never.
func (l *loop) decide() time.Duration {
	l.mu.Lock()
	news, wish := l.news, l.wish
	l.mu.Unlock()
	w := l.world()
	recheck := l.publish(w)
	if left := l.lookAround(w); left > 0 {
		return shorterWait(recheck, left)
	}
	if l.acting != nil {
		return recheck
	}
	s, waits := l.next(w, wish)
	switch s := s.(type) {
	case nothing:
		return shorterWait(recheck, l.rests(w, s, waits, news))
	case relook:
		l.fresh = l.lookBegan + 1
	}
	l.restEnds = 0
	if l.lookEnded < l.fresh {
		l.Kick() // this wakes the loop
		return recheck
	}
	if left := l.pace(w, s, wish).Sub(w.now); left > 0 {
		return shorterWait(recheck, left)
	}
	l.acting = s
	l.task(func() {
		if !forAll(s) {
			if left := l.turn(w, wish != nil); left > 0 {
				l.done <- othersTurn(left)
				return
			}
		}
		l.done <- l.do(w, s)
	})
	return recheck
}

// forAll reports whether any number of clients may take the step at once.
func forAll(s step) bool {
	switch s.(type) {
	case adopt, note:
		return true
	}
	return false
}

// othersTurn is the error when another client has the turn. The value is the rest of that turn.
type othersTurn time.Duration

func (othersTurn) Error() string { return "another client changes the members" }

// next returns the next step of the operator's change. If there is no change, or the change must wait, next returns
// the step that each client would take without an operator. waits is the waitFor of a change that must wait; else nil.
func (l *loop) next(w world, wish *wish) (s step, waits *waitFor) {
	if wish == nil {
		return w.next(), nil
	}
	s, err := w.toward(wish.change)
	if err != nil {
		l.end(wish, err)
		return w.next(), nil
	}
	switch s := s.(type) {
	case done:
		l.end(wish, nil)
		return w.next(), nil
	case waitFor:
		l.notify(s.why, nil)
		return w.next(), &s
	}
	return s, nil
}

// pace returns the earliest time for the step s.
func (l *loop) pace(w world, s step, wish *wish) clock.Instant {
	if l.from == 0 {
		l.from = w.now
		if !forAll(s) && !l.starting && wish == nil {
			l.from = l.from.Add(rand.N(actAfter))
		}
	}
	return l.from
}

// took handles the result of a step, and begins a look. The next step is taken after this look.
func (l *loop) took(err error) {
	l.acting, l.fresh = nil, l.lookBegan+1
	l.Kick()
	now := l.Now()
	if left, is := errors.AsType[othersTurn](err); is {
		l.from = now.Add(min(time.Duration(left), lookAgain/2) + rand.N(actAfter))
		return
	}
	l.from = now
	if err == nil {
		l.pause = 0
		return
	}
	l.from = now.Add(l.longer())
	l.notify(err.Error(), err)
}

// longer doubles the pause, up to lookAgain, and returns a random time near it.
func (l *loop) longer() time.Duration {
	l.pause = min(max(2*l.pause, leastPause), lookAgain)
	return l.pause/2 + rand.N(l.pause)
}

// rests sets the time of the next look, as s or the waiting change requires. It returns the time after
// which the loop must decide again even without news; 0 means never.
func (l *loop) rests(w world, s nothing, waits *waitFor, news uint64) time.Duration {
	l.mu.Lock()
	l.decided = news
	l.broadcast()
	l.mu.Unlock()
	l.from, l.fresh = 0, l.lookBegan+1
	l.starting = l.starting && w.view == nil
	switch {
	case waits != nil && waits.look > 0:
		s = nothing{wait: waits.look}
	case waits != nil && l.restEnds != 0: // a report must not prolong the rest
		return max(l.restEnds.Sub(w.now), time.Nanosecond)
	case waits != nil:
		s = nothing{wait: l.longer()}
	case s.wait > 0:
		s.wait += rand.N(actAfter)
	}
	if s.wait == 0 {
		l.restEnds = 0
		return 0
	}
	if ends := w.now.Add(s.wait); l.restEnds == 0 || ends.Before(l.restEnds) || !slices.Equal(s.at, l.rest.at) {
		l.rest, l.restEnds = s, ends
	}
	return max(l.restEnds.Sub(w.now), time.Nanosecond)
}

// lookAround begins a look at all masters, if a look is wanted and none is under way. It returns how
// long to wait for the look that is under way, or 0. The loop takes no step during a look.
func (l *loop) lookAround(w world) (left time.Duration) {
	l.mu.Lock()
	begins, underWay := l.lookEnded == l.lookBegan && l.lookWanted > l.lookBegan, l.lookEnded < l.lookBegan
	if begins {
		l.lookBegan, l.lookAt = l.lookWanted, w.now
	}
	l.mu.Unlock()
	if begins {
		for i := range l.Masters {
			l.look(i)
		}
		return lookTimeout
	}
	if !underWay {
		return 0
	}
	i, _ := w.returning() // the step adopt need not wait for masters that do not report
	busy := func(m observed) bool { return m.looking || m.pushing }
	if left = l.lookAt.Add(lookTimeout).Sub(w.now); left > 0 && i < 0 && slices.ContainsFunc(w.masters, busy) {
		return left
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookEnded = l.lookBegan
	l.broadcast()
	if l.lookWanted > l.lookBegan {
		l.wake()
	}
	return 0
}

// publish calls Learned and Out, and sends members the version and the names that they lack. It
// returns the time after which to check for outages again; 0 means at the next news.
func (l *loop) publish(w world) (recheck time.Duration) {
	v := w.view
	if v == nil {
		return 0
	}
	if before := l.shown; v != before {
		l.shown = v
		if before == nil || before.Version != v.Version {
			l.shownAt, l.sent, l.fresh = w.now, map[string]bool{}, l.lookBegan+1
		}
		l.Learned(before, v)
	}
	l.push(w)
	l.sendNames(w)
	report, recheck := l.outageStarts.update(w.now, v.Table.Quarantine()+outageAfter, w.outages())
	for _, out := range report {
		l.Out(out)
	}
	return recheck
}

// push sends the view's version to members that have not learned this version. A member that has
// accepted the version may have learned it from another client by now. So push first waits for that
// member's next report.
func (l *loop) push(w world) {
	v := w.view
	for i, m := range w.masters {
		r := m.report
		behind := r.intact() && r.deployment == v.Deployment && v.Table.concerns(r.id) && (r.version < v.Version ||
			r.version == v.Version && (!r.learned || r.known < 0) && !r.asked.Before(l.shownAt))
		if !behind || m.pushing || m.pushed == r {
			continue
		}
		l.mu.Lock()
		l.masters[i].pushing, l.masters[i].pushed = true, r
		l.mu.Unlock()
		w.masters[i].pushing = true // a look waits until the push has ended
		l.task(func() {
			at := l.Now()
			ctx, cancel := context.WithTimeout(l.ctx, l.Timeout)
			defer cancel()
			ms, err := l.Masters[i].EvalInt(ctx, learnScript, []string{l.key}, r.id, v.Version, v.Table.text(), v.Deployment)
			l.update(func() { l.masters[i].pushing = false })
			switch {
			case err != nil: // the next report shows the outcome
			case ms < 0:
				l.look(i) // the member is at a higher version
			default:
				l.accepted(i, r.id, at, "", acceptedTable{v.Version, v.Table, true, time.Duration(ms) * time.Millisecond})
			}
		})
	}
}

// sendNames sends each member the names under which this client reaches all members, except names that
// the receiver has already. The names are only a hint: they are sent once at each version, and sendNames
// does not wait for the result.
func (l *loop) sendNames(w world) {
	v := w.view
	for i, m := range w.masters {
		r := m.report
		if !r.intact() || r.version != v.Version || v.Table.find(r.id) == nil {
			continue
		}
		var news []any
		for _, other := range w.masters {
			if !other.report.intact() || other.report.deployment != v.Deployment {
				continue
			}
			is := v.Table.find(other.report.id)
			if is == nil || is.Address == other.name || slices.Contains(r.names[is.ID], other.name) || strings.Contains(other.name, "\n") {
				continue
			}
			if sent := r.id + " " + is.ID + " " + other.name; !l.sent[sent] {
				l.sent[sent] = true
				news = append(news, is.ID, other.name)
			}
		}
		if news != nil {
			l.task(func() {
				ctx, cancel := context.WithTimeout(l.ctx, l.Timeout)
				defer cancel()
				_ = l.Masters[i].Eval(ctx, reachedScript, []string{l.key}, append([]any{r.id}, news...)...)
			})
		}
	}
}

// wish is an operator's change that is being made. The group's mutex guards it.
type wish struct {
	change Change
	waits  string // what the change waits for
	fault  error  // why the last step failed
	over   bool
	err    error // why the change was not made
}

// notify records, if there is an operator's change, what the change waits for and why its last step failed.
func (l *loop) notify(text string, fault error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if is := l.wish; is != nil {
		is.waits, is.fault = text, fault
		l.broadcast()
	}
}

// end ends the operator's change. err is nil if the change was made.
func (l *loop) end(is *wish, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is.over, is.err = true, err
	if l.wish == is {
		l.wish = nil
	}
	l.broadcast()
}

// Make makes a change, or continues an interrupted change, and returns when the change is done. A group
// makes one change at a time. When the change begins to wait for something else, Make calls progress()
// with a text. If ctx ends first, another Make can continue the change.
func (g *Group) Make(ctx context.Context, c Change, progress func(string)) error {
	if err := g.denied(ctx); err != nil {
		return err
	}
	is, shown := &wish{change: c}, ""
	defer g.update(func() {
		if g.wish == is {
			g.wish = nil
		}
	})
	for {
		g.mu.Lock()
		if g.wish == nil && !is.over {
			g.wish, g.lookWanted = is, g.lookBegan+1
			g.wake()
		}
		now, changed := *is, g.changed
		g.mu.Unlock()
		if now.waits != shown {
			shown = now.waits
			progress(shown)
			if err := g.denied(ctx); err != nil { // the change may wait because a right is missing
				return err
			}
		}
		if now.over {
			return now.err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return printable.Join(context.Cause(ctx), now.fault)
		case <-g.ctx.Done():
			return g.ctx.Err()
		}
	}
}
