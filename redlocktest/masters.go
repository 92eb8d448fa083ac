package redlocktest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/embedded"
)

type master struct {
	*embedded.Server
	frozen atomic.Bool
	ahead  atomic.Int64 // how far its clock is ahead, ns
}

// serves reports whether the master answers.
func (m *master) serves() bool { return m.Running() && !m.frozen.Load() }

// at calls settle, and returns master i. It fails the test if there is no such master.
func (d *Deployment) at(verb string, i int) *master {
	d.t.Helper()
	if i < 0 || i >= len(d.masters) {
		d.t.Fatalf("redlocktest: %s(%d): there are the masters 0 to %d", verb, i, len(d.masters)-1)
	}
	d.settle()
	return d.masters[i]
}

// settle waits until the clients have all answers of the masters that serve. This makes tests
// repeatable: Lock returns when a quorum has granted the lock, and without settle its requests to
// the other masters could arrive before or after the next fault of the test.
func (d *Deployment) settle() {
	d.t.Helper()
	for _, c := range d.allClients() {
		for i, m := range d.masters {
			d.eventually(fmt.Sprintf("master %d has answered a client", i), func() bool {
				return !m.serves() || redlock.Inside(core.Key{}).Client(context.Background(), c).Masters[i].Unanswered() == 0
			})
		}
	}
}

// Kill ends master i (from 0), as a crash does: connections break, and new ones are refused. The
// master keeps its data.
func (d *Deployment) Kill(i int) {
	d.t.Helper()
	m := d.at("Kill", i)
	m.frozen.Store(false)
	m.Server.Kill(false)
}

// Start starts master i again after Kill, with the data that it had: it votes again at once.
func (d *Deployment) Start(i int) {
	d.t.Helper()
	if err := d.at("Start", i).Restart(); err != nil {
		d.t.Fatalf("redlocktest: Start(%d): %v", i, err)
	}
}

// Freeze stops master i as SIGSTOP does: connections stay, and nothing is answered until Thaw.
func (d *Deployment) Freeze(i int) {
	d.t.Helper()
	m := d.at("Freeze", i)
	if !m.Running() {
		d.t.Fatalf("redlocktest: Freeze(%d): the master does not run", i)
	}
	m.frozen.Store(true)
	m.Pause()
}

// Thaw lets master i go on after Freeze. The master then handles the requests that arrived
// meanwhile.
func (d *Deployment) Thaw(i int) {
	d.t.Helper()
	m := d.at("Thaw", i)
	m.frozen.Store(false)
	m.Resume()
}

// Wipe makes master i lose its data, as when its disk is replaced. If the master runs, it restarts
// empty. It is not a member until a client has brought it back. After that, the master waits the
// deployment's max ttl and a little more before it votes.
func (d *Deployment) Wipe(i int) {
	d.t.Helper()
	m := d.at("Wipe", i)
	ran := m.Running()
	m.frozen.Store(false)
	m.Server.Kill(true)
	if ran {
		d.Start(i)
	}
}

// JumpClock sets the clock of master i forward, or back if the duration is negative. The master's
// locks expire by this clock.
func (d *Deployment) JumpClock(i int, by time.Duration) {
	d.t.Helper()
	m := d.at("JumpClock", i)
	m.SetClock(time.Duration(m.ahead.Add(int64(by))))
}
