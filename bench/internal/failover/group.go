package failover

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/bench/internal/reexec"
)

// group is the candidates of one election.
type group struct {
	program, role string // of the candidates
	order         Order
	patience      time.Duration // for what a candidate should do

	members map[*member]bool
	heard   chan hearing
	over    chan struct{} // closed when nobody reads heard any more
	readers sync.WaitGroup

	leader *member // nil at first
	began  int64   // when its work did
	token  uint64  // of its term
}

// member is one candidate.
type member struct {
	*reexec.Child
	campaigns bool
	resigned  *news
	killed    bool
	silent    bool // all that it told was heard
}

// kill kills it, unless that was done.
func (m *member) kill() error {
	if m.killed {
		return nil
	}
	m.killed = true
	return m.Signal(syscall.SIGKILL)
}

// hearing is what a candidate told, or why it tells nothing more.
type hearing struct {
	from *member
	news
	err error
}

// assemble starts the candidates. The caller must call stop, also after an error.
func assemble(program, role string, order Order, candidates int, patience time.Duration) (*group, error) {
	g := &group{
		program: program, role: role, order: order, patience: patience,
		members: map[*member]bool{}, heard: make(chan hearing), over: make(chan struct{}),
	}
	for range candidates {
		if err := g.join(); err != nil {
			return g, err
		}
	}
	return g, nil
}

// join starts one candidate.
func (g *group) join() error {
	child, err := reexec.Start(g.program, g.role)
	if err != nil {
		return err
	}
	m := &member{Child: child}
	g.members[m] = true
	g.readers.Go(func() { g.read(m) })
	return m.Tell(g.order)
}

// read passes on what m tells until it ends.
func (g *group) read(m *member) {
	for {
		h := hearing{from: m}
		h.err = m.Hear(&h.news)
		select {
		case g.heard <- h:
		case <-g.over:
			return
		}
		if h.err != nil {
			return
		}
	}
}

// await listens until it is as wanted. missing says what is not, if that takes too long.
func (g *group) await(wanted func() bool, missing string) error {
	tooLong := time.After(g.patience)
	for !wanted() {
		select {
		case h := <-g.heard:
			if err := g.note(h); err != nil {
				return err
			}
		case <-tooLong:
			return fmt.Errorf("%s within %v", missing, g.patience)
		}
	}
	return nil
}

// listen listens for d.
func (g *group) listen(d time.Duration) error {
	over := time.After(d)
	for {
		select {
		case h := <-g.heard:
			if err := g.note(h); err != nil {
				return err
			}
		case <-over:
			return nil
		}
	}
}

// note takes in what a candidate told. A token that did not grow is an error: there were two
// leaders, or there is no order among them.
func (g *group) note(h hearing) error {
	switch {
	case h.err != nil && h.from.killed:
		h.from.silent = true
	case h.err != nil:
		return fmt.Errorf("a candidate ended: %w", h.err)
	case h.What == campaigns:
		h.from.campaigns = true
	case h.What == resigned:
		h.from.resigned = &h.news
	case h.Token <= g.token:
		return fmt.Errorf("a term has token %d, and one before it %d", h.Token, g.token)
	default:
		g.leader, g.began, g.token = h.from, h.At, h.Token
	}
	return nil
}

// ready reports whether all campaign, and one of them leads.
func (g *group) ready() bool {
	for m := range g.members {
		if !m.campaigns {
			return false
		}
	}
	return g.leader != nil
}

// replace kills m, and starts another candidate.
func (g *group) replace(m *member) error {
	if err := m.kill(); err != nil {
		return err
	}
	if err := g.await(func() bool { return m.silent }, "a candidate that was killed did not end"); err != nil {
		return err
	}
	delete(g.members, m)
	if g.leader == m {
		g.leader = nil
	}
	_ = m.Stop() // its error is that it was killed
	return g.join()
}

// stop kills all.
func (g *group) stop() {
	close(g.over)
	for m := range g.members {
		_ = m.kill() // one that has ended is not there
	}
	g.readers.Wait()
	for m := range g.members {
		_ = m.Stop()
	}
}
