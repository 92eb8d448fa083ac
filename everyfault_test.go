package redlock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// Requests lost, replies lost, either delivered twice, connections cut: on one master and on a quorum of them, for each
// script. Whatever the caller is told, nothing counts twice and nothing is left behind. Those of readers have a test of their
// own: TestEveryFaultOnReaders.
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
		{script.Exit, few, (*faulty).exit},
		{script.Repair, few, (*faulty).repair},
		{script.Restore, few, (*faulty).restore},
		{script.Undo, few, (*faulty).undo},
		{script.Joint, few, (*faulty).joint},
		{script.Enqueue, few, (*faulty).enqueue},
		{script.Leave, few, (*faulty).leave},
		{script.Pass, few, (*faulty).pass},
		{script.Linger, few, (*faulty).linger},
		{script.Verify, few, (*faulty).verify},
	} {
		for _, hit := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s on %d of 5", x.script.Name, hit), func(t *testing.T) {
				t.Parallel()
				d, proxies := proxied(t, 5)
				c := faultClient(d)
				for i, action := range x.actions {
					// Only the first masters to grant are asked to confirm: it may be others than those with the fault.
					for again := 0; !underFault(t, d, c, proxies[:hit], on(x.script, 1, action), fmt.Sprintf("job-%d-%d", i, again), x.run); again++ {
						if again == 10 {
							t.Fatalf("%v: %s was not sent to a master with the fault", action, x.script.Name)
						}
					}
				}
			})
		}
	}
}

// faulty is a client on masters, some of which have a fault that waits for its request.
type faulty struct {
	*testing.T
	d      *deployment
	c      *Client
	name   string
	begin  func() // the fault waits from now on
	expect func(what string, err error)
}

// underFault runs something of the client's under a fault, and requires that nothing of it is left. It reports whether the
// fault happened.
func underFault(t *testing.T, d *deployment, c *Client, proxies []*faultproxy.Proxy, rule faultproxy.Rule, name string, run func(*faulty)) bool {
	t.Helper()
	eventually(t, "all masters are up", func() bool { return allUp(c) })
	settled(t, c)
	var faults []*faultproxy.Fault
	run(&faulty{t, d, c, name,
		func() {
			for _, p := range proxies {
				faults = append(faults, p.Add(rule))
			}
		},
		func(what string, err error) {
			t.Helper()
			if err != nil && (len(proxies) < testvotes.MajorityOf(len(d.masters)) || !errors.Is(err, ErrNoQuorum)) {
				t.Errorf("%v: %s: %v", rule, what, err)
			}
		},
	})
	requireFree(t, d, name)
	d.inLine(name, 0)
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
	lock, err := s.c.TryLock(background, s.name, WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.enterAgain(lock)
	s.end(lock)
}

// lock locks the name on all masters.
func (s *faulty) lock(c *Client, opts ...LockOption) *Lock {
	s.Helper()
	lock := mustLock(s.T, c, s.name, append([]LockOption{WithoutWatchdog()}, opts...)...)
	settled(s.T, c)
	return lock
}

// enterAgain enters the lock again, for reading if it is a reader's, and leaves it.
func (s *faulty) enterAgain(lock *Lock) {
	s.Helper()
	enter := s.c.TryLock
	if lock.Token() == 0 {
		enter = s.c.TryRLock
	}
	inner, err := enter(lock.Context(), s.name, WithoutWatchdog())
	s.expect("re-entry", err)
	s.expect("extend", lock.Extend(background, faultTTL+time.Second))
	if err != nil {
		return
	}
	if inner.Token() != lock.Token() {
		s.Errorf("token %v, then %v", lock.Token(), inner.Token())
	}
	s.expect("inner unlock", inner.Unlock(background))
}

// end requires that the lock is held yet, and unlocks it.
func (s *faulty) end(lock *Lock) {
	s.Helper()
	if !lock.Valid() {
		s.Errorf("lost: %v", context.Cause(lock.Context()))
	}
	s.expect("unlock", lock.Unlock(background))
}

// differ has each master grant another number.
func (s *faulty) differ() {
	for i, r := range s.d.raw {
		must(s.T, r.IncrBy(background, script.KeysOf(limits.DefaultPrefix, s.name, "").Fence, int64(10*i)).Err())
	}
}

func (s *faulty) confirm() { s.raised(s.c.TryLock) }

func (s *faulty) know() { s.raised(s.c.TryRLock) }

// raised locks the name where masters grant different numbers, and requires that the next token is above the highest.
func (s *faulty) raised(try func(context.Context, string, ...LockOption) (*Lock, error)) {
	s.Helper()
	s.differ()
	s.begin()
	lock, err := try(background, s.name, WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	last := lock.LastToken() // a writer's own
	s.end(lock)
	settled(s.T, s.c)
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

func (s *faulty) exit() {
	lock := s.lock(s.c)
	inner, err := s.c.TryLock(lock.Context(), s.name, WithoutWatchdog())
	must(s.T, err)
	settled(s.T, s.c)
	s.begin()
	s.expect("inner unlock", inner.Unlock(background))
	s.expect("extend", lock.Extend(background, faultTTL))
	s.end(lock)
}

// repair loses the lock on two masters, which are fewer than a quorum.
func (s *faulty) repair() { s.writeBack(s.lock(s.c)) }

func (s *faulty) restore() {
	lock := mustTryRead(s.T, s.c, s.name, WithoutWatchdog())
	settled(s.T, s.c)
	s.writeBack(lock)
}

func (s *faulty) writeBack(lock *Lock) {
	s.d.drop(s.c, s.name, 0, 1)
	must(s.T, lock.Extend(background, faultTTL))
	settled(s.T, s.c)
	s.begin()
	s.expect("repair", lock.Extend(background, faultTTL))
	s.expect("extend", lock.Extend(background, faultTTL))
	s.end(lock)
}

// undo gives back what two masters granted while a rival has the others.
func (s *faulty) undo() {
	rival := s.d.client(WithRequestTimeout(faultRequest), WithTTL(faultTTL))
	held := s.lock(rival)
	s.d.drop(rival, s.name, 0, 1)
	s.begin()
	_, err := s.c.TryLock(background, s.name)
	requireErr(s.T, err, ErrHeld)
	givenBack(s.T, s.d, s.name, "00111", faultTTL/2)
	must(s.T, held.Unlock(background))
}

func (s *faulty) joint() {
	other := s.name + "-2"
	s.begin()
	locks, err := s.c.TryLockAll(background, []string{s.name, other}, WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
	} else {
		if !locks.Valid() {
			s.Errorf("lost: %v", context.Cause(locks.Context()))
		}
		s.expect("unlock", locks.Unlock(background))
	}
	requireFree(s.T, s.d, other)
}

// enqueue has the client stand in line behind a rival.
func (s *faulty) enqueue() { s.end(s.afterARival(s.begin)) }

// afterARival returns the lock that the client waited for while a rival had it.
func (s *faulty) afterARival(before func()) *Lock {
	s.Helper()
	held := s.lock(s.d.client(WithRequestTimeout(faultRequest), WithTTL(faultTTL)))
	before()
	got := goLock(s.T, s.c, s.name, WithoutWatchdog(), WithTTL(time.Minute))
	s.d.inLine(s.name, 1)
	must(s.T, held.Unlock(background))
	return have(s.T, got)
}

func (s *faulty) leave() {
	held := s.lock(s.d.client(WithRequestTimeout(faultRequest), WithTTL(time.Minute)))
	ctx, cancel := context.WithCancel(background)
	left := make(chan error, 1)
	go func() {
		_, err := s.c.Lock(ctx, s.name)
		left <- err
	}()
	s.d.inLine(s.name, 1)
	s.begin()
	cancel()
	requireErr(s.T, <-left, context.Canceled)
	s.d.inLine(s.name, 0)
	must(s.T, held.Unlock(background))
}

// pass hands the lock over to the next caller of the same client, for which the masters keep it.
func (s *faulty) pass() {
	must(s.T, s.afterARival(func() {}).Unlock(background)) // so the masters can call this client
	requireFree(s.T, s.d, s.name)
	lock := s.lock(s.c, WithTTL(time.Minute))
	got := goLock(s.T, s.c, s.name, WithoutWatchdog(), WithTTL(time.Minute))
	eventually(s.T, "the next one waits", func() bool { return s.c.queues.Waiting(s.name) == 1 })
	lock.h.Since = s.c.now().Add(time.Minute) // else it may keep the lock for 10 ms only
	s.begin()
	s.expect("unlock", lock.Unlock(background))
	s.end(have(s.T, got))
}

func (s *faulty) linger() {
	lock := s.lock(s.c, WithHoldAtLeast(faultRequest))
	s.begin()
	s.end(lock)
}

func (s *faulty) verify() {
	lock := s.lock(s.c)
	s.begin()
	_, err := s.c.Verify(background, s.name, lock.Token())
	s.expect("verify", err)
	s.end(lock)
}
