package faulttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// For each script, requests and replies are lost or doubled, and connections are cut, on one master and on a quorum.
// Nothing counts twice, and nothing is left.
func TestEveryFaultOnEveryScript(t *testing.T) {
	t.Parallel()
	few := []faultproxy.Action{
		faultproxy.DropRequest, faultproxy.DropReply, faultproxy.DuplicateRequest, faultproxy.CutBeforeRequest, faultproxy.CutAfterRequest,
	}
	all := append([]faultproxy.Action{
		faultproxy.CutRequestAt(1), faultproxy.CutRequestAt(40), faultproxy.CutRequestAt(100), faultproxy.CutRequestAt(150),
		faultproxy.CutReplyAt(0), faultproxy.CutReplyAt(1), faultproxy.CutReplyAt(3),
	}, few...)
	for _, x := range []struct {
		script  *script.Operation
		actions []faultproxy.Action
		run     func(*faulty)
	}{
		{script.Acquire, all, walk},
		{script.Extend, all, walk},
		{script.Release, all, walk},
		{script.Confirm, few, (*faulty).confirm},
		{script.Know, few, (*faulty).know},
		{script.Reenter, few, (*faulty).reenter},
		{script.Repair, few, (*faulty).repair},
		{script.Restore, few, (*faulty).restore},
		{script.Undo, few, (*faulty).undo},
		{script.Share, few, (*faulty).read},
		{script.Stay, few, (*faulty).downgrade},
		{script.Enqueue, few, (*faulty).enqueue},
		{script.Leave, few, (*faulty).leave},
		{script.Pass, few, (*faulty).pass},
		{script.Linger, few, (*faulty).linger},
		{script.Verify, few, (*faulty).verify},
	} {
		for _, hit := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s on %d of 5", x.script.Name, hit), func(t *testing.T) {
				t.Parallel()
				d, proxies := harness.Proxied(t, 5)
				c := harness.FaultClient(d)
				for i, action := range x.actions {
					// Only the masters that grant first are asked to confirm, and these may be
					// masters without the fault.
					for try := 0; !underFault(t, d, c, proxies[:hit], harness.On(x.script, 1, action), fmt.Sprintf("job-%d-%d", i, try), x.run); try++ {
						if try == 10 {
							t.Fatalf("%v: %s was not sent to a master with the fault", action, x.script.Name)
						}
					}
				}
			})
		}
	}
}

// faulty is a client on masters. Some of the masters have a fault, which happens when the right request comes.
type faulty struct {
	*testing.T
	d      *harness.Deployment
	c      *redlock.Client
	name   string
	begin  func() // from now on the fault may happen
	expect func(what string, err error)
}

// underFault runs a call under a fault, requires that nothing of the call is left, and reports whether the fault
// happened.
func underFault(t *testing.T, d *harness.Deployment, c *redlock.Client, proxies []*faultproxy.Proxy, rule faultproxy.Rule, name string, run func(*faulty)) bool {
	t.Helper()
	harness.Eventually(t, "all masters are up", func() bool { return harness.AllUp(c) })
	harness.Settled(t, c)
	var faults []*faultproxy.Fault
	run(&faulty{t, d, c, name,
		func() {
			for _, p := range proxies {
				faults = append(faults, p.Add(rule))
			}
		},
		func(what string, err error) {
			t.Helper()
			if err != nil && (len(proxies) < testvotes.MajorityOf(len(d.Masters)) || !errors.Is(err, redlock.ErrNoQuorum)) {
				t.Errorf("%v: %s: %v", rule, what, err)
			}
		},
	})
	harness.RequireFree(t, d, name)
	d.InLine(name, 0)
	happened := false
	for _, f := range faults {
		happened = happened || f.Hits() > 0
		f.Remove()
	}
	if t.Failed() {
		t.Fatalf("with %v", rule)
	}
	return happened
}

// walk is a lock, a re-entry, an extension and two unlocks.
func walk(s *faulty) {
	s.begin()
	lock, err := s.c.TryLock(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.enterAgain(lock)
	s.end(lock)
}

func (s *faulty) lock(c *redlock.Client, opts ...redlock.LockOption) *redlock.Lock {
	s.Helper()
	lock := harness.MustLock(s.T, c, s.name, append([]redlock.LockOption{redlock.WithoutWatchdog()}, opts...)...)
	harness.Settled(s.T, c)
	return lock
}

// enterAgain re-enters the hold, extends it, and leaves the inner entry. A reader re-enters for reading.
func (s *faulty) enterAgain(lock *redlock.Lock) {
	s.Helper()
	enter := s.c.TryLock
	if lock.Token() == 0 {
		enter = s.c.TryRLock
	}
	inner, err := enter(lock.Context(), s.name, redlock.WithoutWatchdog())
	s.expect("re-entry", err)
	s.expect("extend", lock.Extend(context.Background(), harness.FaultTTL+time.Second))
	if err != nil {
		return
	}
	if inner.Token() != lock.Token() {
		s.Errorf("token %v, then %v", lock.Token(), inner.Token())
	}
	s.expect("inner unlock", inner.Unlock(context.Background()))
}

// end requires that the lock is valid, and unlocks it.
func (s *faulty) end(lock *redlock.Lock) {
	s.Helper()
	if !lock.Valid() {
		s.Errorf("lost: %v", context.Cause(lock.Context()))
	}
	s.expect("unlock", lock.Unlock(context.Background()))
}

// differ gives the masters different counters.
func (s *faulty) differ() {
	for i, r := range s.d.Raw {
		harness.Must(s.T, r.IncrBy(context.Background(), script.KeysOf(limits.DefaultPrefix, s.name, "").Fence, int64(10*i)).Err())
	}
}

func (s *faulty) confirm() { s.raised(s.c.TryLock) }

func (s *faulty) know() { s.raised(s.c.TryRLock) }

// raised locks a name whose counters differ, and requires that the next token is above the token of this lock.
func (s *faulty) raised(try func(context.Context, string, ...redlock.LockOption) (*redlock.Lock, error)) {
	s.Helper()
	s.differ()
	s.begin()
	lock, err := try(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	last := lock.LastToken() // for a writer: its own token
	s.end(lock)
	harness.Settled(s.T, s.c)
	next := s.lock(s.c)
	if next.Token() <= last {
		s.Errorf("token %v after %v", next.Token(), last)
	}
	s.end(next)
}

func (s *faulty) reenter() {
	lock := s.lock(s.c)
	s.begin()
	s.enterAgain(lock)
	s.end(lock)
}

// repair deletes the lock on two masters, fewer than a quorum, so that they are repaired.
func (s *faulty) repair() { s.writeBack(s.lock(s.c)) }

func (s *faulty) restore() {
	lock := harness.MustTryRead(s.T, s.c, s.name, redlock.WithoutWatchdog())
	harness.Settled(s.T, s.c)
	s.writeBack(lock)
}

func (s *faulty) writeBack(lock *redlock.Lock) {
	s.d.Drop(s.c, s.name, 0, 1)
	harness.Must(s.T, lock.Extend(context.Background(), harness.FaultTTL))
	harness.Settled(s.T, s.c)
	s.begin()
	s.expect("repair", lock.Extend(context.Background(), harness.FaultTTL))
	s.expect("extend", lock.Extend(context.Background(), harness.FaultTTL))
	s.end(lock)
}

// undo makes the client give back the grants of two masters, while a rival has the lock on the others.
func (s *faulty) undo() {
	rival := s.d.Client(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL))
	held := s.lock(rival)
	s.d.Drop(rival, s.name, 0, 1)
	s.begin()
	_, err := s.c.TryLock(context.Background(), s.name)
	harness.RequireErr(s.T, err, redlock.ErrHeld)
	harness.GivenBack(s.T, s.d, s.name, "00111", harness.FaultTTL/2)
	harness.Must(s.T, held.Unlock(context.Background()))
}

// enqueue puts the client into the queue behind a rival.
func (s *faulty) enqueue() { s.end(s.afterARival(s.begin)) }

// afterARival returns the lock after the client waited for a rival.
func (s *faulty) afterARival(before func()) *redlock.Lock {
	s.Helper()
	held := s.lock(s.d.Client(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL)))
	before()
	got := harness.GoLock(s.T, s.c, s.name, redlock.WithoutWatchdog(), redlock.WithTTL(time.Minute))
	s.d.InLine(s.name, 1)
	harness.Must(s.T, held.Unlock(context.Background()))
	return harness.Have(s.T, got)
}

func (s *faulty) leave() {
	held := s.lock(s.d.Client(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(time.Minute)))
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		_, err := s.c.Lock(ctx, s.name)
		left <- err
	}()
	s.d.InLine(s.name, 1)
	s.begin()
	cancel()
	harness.RequireErr(s.T, <-left, context.Canceled)
	s.d.InLine(s.name, 0)
	harness.Must(s.T, held.Unlock(context.Background()))
}

// pass releases the lock, which the masters then keep for the next caller of the same client.
func (s *faulty) pass() {
	harness.Must(s.T, s.afterARival(func() {}).Unlock(context.Background())) // so the masters can call this client
	harness.RequireFree(s.T, s.d, s.name)
	lock := s.lock(s.c, redlock.WithTTL(time.Minute))
	got := harness.GoLock(s.T, s.c, s.name, redlock.WithoutWatchdog(), redlock.WithTTL(time.Minute))
	harness.Eventually(s.T, "the next one waits", func() bool { return harness.Waiting(s.c, s.name) == 1 })
	harness.Hold(lock).Since = harness.Inside(s.c).Now().Add(time.Minute) // otherwise the client could pass the lock to its next caller for 10 ms only
	s.begin()
	s.expect("unlock", lock.Unlock(context.Background()))
	s.end(harness.Have(s.T, got))
}

func (s *faulty) linger() {
	lock := s.lock(s.c, redlock.WithHoldAtLeast(harness.FaultRequest))
	s.begin()
	s.end(lock)
}

func (s *faulty) read() {
	s.begin()
	lock, err := s.c.TryRLock(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.enterAgain(lock)
	s.end(lock)
}

func (s *faulty) downgrade() {
	s.begin()
	lock, err := s.c.TryLock(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.expect("downgrade", lock.Downgrade(context.Background()))
	s.expect("downgrade again", lock.Downgrade(context.Background()))
	s.enterAgain(lock)
	s.end(lock)
}

func (s *faulty) verify() {
	lock := s.lock(s.c)
	s.begin()
	_, err := s.c.Verify(context.Background(), s.name, lock.Token())
	s.expect("verify", err)
	s.end(lock)
}
