package redlock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// What comes late: answers, requests to masters that are gone, an Unlock beside
// Close.

func TestExtendThatComesTooLate(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithRequestTimeout(2 * time.Second))
		lock := mustTry(t, c, "job", WithTTL(3*time.Second), WithLockDelay(10*time.Second), WithoutWatchdog())
		time.Sleep(2 * time.Second)
		for _, m := range d.masters {
			m.freeze()
		}
		go func() {
			time.Sleep(1500 * time.Millisecond) // the lease is over, and the masters keep the lock
			for _, m := range d.masters {
				m.thaw()
			}
		}()
		requireErr(t, lock.Extend(background, 3*time.Second), ErrExpired)
		if lock.Valid() {
			t.Error("it is valid again")
		}
		requireErr(t, lock.Unlock(background), ErrExpired)
	})
}

// What must arrive is tried for as long as it is of use, and not for as long as
// the master is gone.
func TestWhatADeadMasterWasToBeToldEnds(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		d.masters[0].die()
		dead := c.masters[0]
		leave := c.leaveRequest("job", &c.channel)
		leave.Until = c.now().Add(script.QueueTTL)
		wanted := c.leaveRequest("wanted", &c.channel)
		wanted.Until, wanted.Policy = leave.Until, obsoleteIf(func(int) bool { return true })
		dead.Submit(leave)
		eventually(t, "kept", func() bool { return dead.Pending() == 1 })
		dead.Submit(wanted)
		time.Sleep(script.QueueTTL / 2)
		synctest.Wait()
		if n := dead.Pending(); n != 1 {
			t.Errorf("%d requests are kept, want the one that is of use", n)
		}
		time.Sleep(script.QueueTTL)
		synctest.Wait()
		if n := dead.Pending(); n != 0 {
			t.Errorf("%d requests are kept for ever", n)
		}
	})
}

// Close lets an Unlock that is under way finish.
func TestUnlockBesideClose(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job")
		for _, m := range d.masters {
			m.freeze()
		}
		var closing sync.WaitGroup
		closing.Go(func() {
			time.Sleep(10 * time.Millisecond)
			_ = c.Close()
		})
		closing.Go(func() {
			time.Sleep(20 * time.Millisecond)
			for _, m := range d.masters {
				m.thaw()
			}
		})
		must(t, lock.Unlock(background))
		closing.Wait()
	})
}

// An Unlock that has ended the hold, and has not sent the release yet: it gets the
// masters' answers.
func TestCloseWaitsForTheReleaseOfAnUnlock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithObserver(Observer{Ended: func(context.Context, HoldEnd) { time.Sleep(time.Second) }}))
		lock := mustTry(t, c, "job")
		synctest.Wait() // all have voted
		var unlocking sync.WaitGroup
		unlocking.Go(func() { check(t, lock.Unlock(background)) })
		time.Sleep(10 * time.Millisecond)
		must(t, c.Close())
		unlocking.Wait()
		if got := d.holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
	})
}

// A master that grants late, on a connection that stands, gets the release behind the acquire: no mark has to keep that out.
func TestALateGrantLeavesNoMark(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		for _, held := range []bool{true, false} {
			d.masters[2].freeze()
			if !held {
				d.masters[1].freeze()
			}
			ctx, cancel := context.WithTimeout(background, d.request()/10)
			lock, err := c.TryLock(ctx, "job")
			cancel()
			if (err == nil) != held {
				t.Fatal(err)
			}
			if held {
				must(t, lock.Unlock(background))
			}
			d.masters[1].thaw()
			d.masters[2].thaw()
			settled(t, c)
			if got := d.holders("job"); got != "000" {
				t.Errorf("held on %s", got)
			}
			for i, r := range d.raw {
				if marks := r.Keys(background, "*:gone:*").Val(); len(marks) > 0 {
					t.Errorf("master %d has the marks %v", i, marks)
				}
			}
		}
	})
}

// Two holds of one client, one after the other. The second one's acquire is dropped
// behind the first one's release; so is not its own release, which would else be
// counted before the first one has left.
func TestUnlockWaitsForTheReleaseBefore(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c, rival := faultClient(d), faultClient(d)
	late := proxies[1].Add(on(script.Acquire, 1, faultproxy.HoldRequest))
	first := mustTry(t, c, "job")
	must(t, first.Unlock(background))
	second := mustTry(t, c, "job")
	var held []*faultproxy.Fault
	for _, i := range []int{1, 2} {
		held = append(held, proxies[i].Add(on(script.Release, 1, faultproxy.HoldRequest)))
	}
	done := make(chan error, 1)
	go func() { done <- second.Unlock(background) }()
	eventually(t, "over", func() bool { return second.h.Over() != nil })
	late.Release()
	for _, e := range held {
		within(t, "the releases leave", e.Seen())
	}
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.holders("job"), err)
	case <-time.After(faultRequest / 10):
	}
	held[0].Release()
	must(t, <-done)
	must(t, mustTry(t, rival, "job").Unlock(background))
	held[1].Release()
}

// A master where another's release has not arrived is not free.
func TestUnlockDoesNotCountWhatAnotherHas(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	before, c, rival := faultClient(d), faultClient(d), faultClient(d)
	lock := mustTry(t, before, "job")
	eventually(t, "held everywhere", func() bool { return d.holders("job") == "111" })
	others := proxies[2].Add(on(script.Release, 1, faultproxy.HoldRequest))
	must(t, lock.Unlock(background))
	within(t, "the release of the hold before leaves", others.Seen())
	lock = mustTry(t, c, "job")
	eventually(t, "all have voted", func() bool { return lock.h.Master(2).Absent() })
	own := proxies[1].Add(on(script.Release, 1, faultproxy.HoldRequest))
	done := make(chan error, 1)
	go func() { done <- lock.Unlock(background) }()
	within(t, "the release leaves", own.Seen())
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.holders("job"), err)
	case <-time.After(faultRequest / 10):
	}
	own.Release()
	must(t, <-done)
	must(t, mustTry(t, rival, "job").Unlock(background))
	others.Release()
}

// A master that lost its data has nothing of the lock, and no vote for the next one to ask.
func TestUnlockDoesNotCountWhoHasNoVote(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c, rival := faultClient(d), faultClient(d)
	report := proxies[0].Add(faultproxy.Rule{On: faultproxy.Match("hgetall"), Do: faultproxy.HoldRequest})
	must(t, d.raw[0].FlushAll(background).Err())
	lock := mustTry(t, c, "job")
	eventually(t, "all have voted", func() bool { return lock.h.Master(0).Absent() })
	last := proxies[2].Add(on(script.Release, 1, faultproxy.HoldRequest))
	done := make(chan error, 1)
	go func() { done <- lock.Unlock(background) }()
	within(t, "the release leaves", last.Seen())
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.holders("job"), err)
	case <-time.After(faultRequest / 10):
	}
	last.Release()
	must(t, <-done)
	must(t, mustTry(t, rival, "job").Unlock(background))
	report.Release()
}

// A master that had no vote when the lock was acquired has one again, and another one fails.
func TestUnlockCountsWhoVotesAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, operator, rival := d.reached(), d.reached(), d.reached()
		must(t, operator.changeMembers(background, suspendMember(d.address(0)), nil))
		must(t, mustTry(t, c, "another").Unlock(background)) // c learns of it
		lock := mustTry(t, c, "job")
		settled(t, c)
		must(t, operator.changeMembers(background, resumeMember(d.address(0)), nil))
		must(t, mustTry(t, c, "another").Unlock(background))
		eventually(t, "it votes", func() bool {
			v := c.members.View()
			return v.Table.Members[0].State == membership.Voting && v.Out[0] == nil
		})
		d.masters[1].die()
		must(t, lock.Unlock(background))
		must(t, mustTry(t, rival, "job").Unlock(background))
	})
}

// A master that has the lock and lost its vote since is told that the lock is free, though the next caller of this client does
// not ask it.
func TestAReleaseReachesWhoVotesNoMore(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, operator := d.reached(), d.reached()
		lock := mustTry(t, c, "job")
		settled(t, c)
		must(t, operator.changeMembers(background, suspendMember(d.address(0)), nil))
		eventually(t, "it votes no more", func() bool {
			must(t, mustTry(t, c, "another").Unlock(background)) // c learns of it
			return c.members.View().Out[0] != nil
		})
		next := goLock(t, c, "job")
		synctest.Wait() // it waits
		if has := lockOn(t, d.raw[0], "job").owner; has != lock.h.ID {
			t.Fatalf("the master without a vote has the lock of %q, want %q", has, lock.h.ID)
		}
		must(t, lock.Unlock(background))
		second := have(t, next)
		settled(t, c)
		if has := lockOn(t, d.raw[0], "job").owner; has != "" {
			t.Errorf("the master without a vote has the lock of %q yet", has)
		}
		must(t, second.Unlock(background))
	})
}

// A release is sent for as long as a master may have the lock: for the longest ttl that was ever asked for.
func TestAReleaseIsKeptForTheLongestTTL(t *testing.T) {
	t.Parallel()
	for what, lengthen := range map[string]func(c *Client, lock *Lock, ttl time.Duration) error{
		"extended": func(_ *Client, lock *Lock, ttl time.Duration) error {
			return errors.Join(lock.Extend(background, ttl), lock.Extend(background, time.Second))
		},
		"entered again": func(c *Client, lock *Lock, ttl time.Duration) error {
			again, err := c.TryLock(lock.Context(), "job", WithTTL(ttl))
			if err != nil {
				return err
			}
			return again.Unlock(background)
		},
		"acquired": func(*Client, *Lock, time.Duration) error { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached()
				first := time.Second
				if what == "acquired" {
					first = time.Minute
				}
				lock := mustTry(t, c, "job", WithTTL(first), WithoutWatchdog())
				must(t, lengthen(c, lock, time.Minute))
				settled(t, c)
				d.masters[0].die()
				must(t, lock.Unlock(background))
				time.Sleep(20 * time.Second)
				d.masters[0].revive()
				began := time.Now()
				eventually(t, "it is free", func() bool { return d.holders("job") == "000" })
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("free %v after the master came back: the ttl did it, not the release", took)
				}
			})
		})
	}
}

// Two handles of one hold are unlocked at the same time. What the one that is not the last asks for
// may come to the masters after the release.
func TestHandlesUnlockedTogether(t *testing.T) {
	t.Parallel()
	onProcesses(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		times := 1000
		if testing.Short() {
			times /= 10
		}
		for range times {
			lock := mustTry(t, c, "job")
			again, err := c.TryLock(lock.Context(), "job")
			must(t, err)
			var both sync.WaitGroup
			start := make(chan struct{})
			for _, l := range []*Lock{lock, again} {
				both.Go(func() { <-start; check(t, l.Unlock(background)) })
			}
			close(start)
			both.Wait()
			if t.Failed() {
				return
			}
		}
	})
}

// A repair whose connection breaks is sent again, and is done. Its first copy comes after the release.
func TestLateCopyOfARepairCannotStand(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	lock := mustTry(t, c, "job")
	late := proxies[0].Add(on(script.Repair, 1, faultproxy.HoldRequest))
	d.drop(c, "job", 0)
	within(t, "the repair leaves", late.Seen())
	again := proxies[0].Add(on(script.Repair, 1, faultproxy.Pass))
	proxies[0].CutAll()
	within(t, "it is sent again", again.Answered())
	eventually(t, "it is granted", func() bool { return lock.h.Master(0).Granted })
	must(t, lock.Unlock(background))
	settled(t, c)
	requireFree(t, d, "job")
	late.Release()
	within(t, "the first copy comes", late.Answered())
	if got := d.holders("job"); got != "000" {
		t.Errorf("held on %s", got)
	}
}

// A writer gave up waiting beside a reader. Its requests come after that: they stand in line for nobody,
// and keep no other reader out.
func TestLateEnqueueStandsInNoLine(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c, writer := faultClient(d), faultClient(d)
	reader, err := c.TryRLock(background, "job")
	must(t, err)
	busy := mustTry(t, c, "busy")
	ctx, cancel := context.WithCancel(background)
	waits := make(chan struct{}) // so that the writer's client can be called
	go func() { defer close(waits); _, _ = writer.Lock(ctx, "busy") }()
	d.inLine("busy", 1)
	settled(t, writer)
	var late, left []*faultproxy.Fault
	for _, p := range proxies[:2] {
		late = append(late, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Enqueue.Name, "lock:job"), Nth: 1, Do: faultproxy.HoldRequest}))
		left = append(left, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Leave.Name, "lock:job"), Nth: 1, Do: faultproxy.Pass}))
	}
	impatient, stop := context.WithTimeout(background, 20*time.Millisecond)
	defer stop()
	_, err = writer.Lock(impatient, "job")
	requireErr(t, err, ErrNotAcquired)
	for i := range left {
		within(t, "it leaves the line", left[i].Answered())
		late[i].Release()
		within(t, "it asks for a place", late[i].Answered())
	}
	settled(t, writer)
	d.inLine("job", 0)
	another, err := c.TryRLock(background, "job")
	must(t, err)
	cancel()
	<-waits
	for _, l := range []*Lock{another, reader, busy} {
		must(t, l.Unlock(background))
	}
}
