package faulttest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

// What comes late: answers, requests to masters that are gone, an Unlock beside Close.

func TestExtendThatComesTooLate(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithRequestTimeout(2 * time.Second))
		lock := harness.MustTry(t, c, "job", redlock.WithTTL(3*time.Second), redlock.WithLockDelay(10*time.Second), redlock.WithoutWatchdog())
		time.Sleep(2 * time.Second)
		for _, m := range d.Masters {
			m.Freeze()
		}
		go func() {
			time.Sleep(1500 * time.Millisecond) // the lease is over, and the masters keep the lock
			for _, m := range d.Masters {
				m.Thaw()
			}
		}()
		harness.RequireErr(t, lock.Extend(context.Background(), 3*time.Second), redlock.ErrExpired)
		if lock.Valid() {
			t.Error("it is valid again")
		}
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
	})
}

// Close lets an Unlock that is under way finish.
func TestUnlockBesideClose(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		lock := harness.MustTry(t, c, "job")
		for _, m := range d.Masters {
			m.Freeze()
		}
		var closing sync.WaitGroup
		closing.Go(func() {
			time.Sleep(10 * time.Millisecond)
			_ = c.Close()
		})
		closing.Go(func() {
			time.Sleep(20 * time.Millisecond)
			for _, m := range d.Masters {
				m.Thaw()
			}
		})
		harness.Must(t, lock.Unlock(context.Background()))
		closing.Wait()
	})
}

// An Unlock that has ended the hold, and has not sent the release yet: it gets the masters'
// answers.
func TestCloseWaitsForTheReleaseOfAnUnlock(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithObserver(redlock.Observer{Ended: func(context.Context, redlock.HoldEnd) { time.Sleep(time.Second) }}))
		lock := harness.MustTry(t, c, "job")
		synctest.Wait() // all have voted
		var unlocking sync.WaitGroup
		unlocking.Go(func() { harness.Check(t, lock.Unlock(context.Background())) })
		time.Sleep(10 * time.Millisecond)
		harness.Must(t, c.Close())
		unlocking.Wait()
		if got := d.Holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
	})
}

// A master that grants late, on a connection that stands, gets the release behind the acquire: no
// mark has to keep that out.
func TestALateGrantLeavesNoMark(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		for _, held := range []bool{true, false} {
			d.Masters[2].Freeze()
			if !held {
				d.Masters[1].Freeze()
			}
			ctx, cancel := context.WithTimeout(context.Background(), d.Request()/10)
			lock, err := c.TryLock(ctx, "job")
			cancel()
			if (err == nil) != held {
				t.Fatal(err)
			}
			if held {
				harness.Must(t, lock.Unlock(context.Background()))
			}
			d.Masters[1].Thaw()
			d.Masters[2].Thaw()
			harness.Settled(t, c)
			if got := d.Holders("job"); got != "000" {
				t.Errorf("held on %s", got)
			}
			for i, r := range d.Raw {
				if marks := r.Keys(context.Background(), "*:gone:*").Val(); len(marks) > 0 {
					t.Errorf("master %d has the marks %v", i, marks)
				}
			}
		}
	})
}

// Two holds of one client, one after the other. The second one's acquire is dropped behind the
// first one's release; so is not its own release, which would else be counted before the first one
// has left.
func TestUnlockWaitsForTheReleaseBefore(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c, rival := harness.FaultClient(d), harness.FaultClient(d)
	late := proxies[1].Add(harness.On(script.Acquire, 1, faultproxy.HoldRequest))
	first := harness.MustTry(t, c, "job")
	harness.Must(t, first.Unlock(context.Background()))
	second := harness.MustTry(t, c, "job")
	var held []*faultproxy.Fault
	for _, i := range []int{1, 2} {
		held = append(held, proxies[i].Add(harness.On(script.Release, 1, faultproxy.HoldRequest)))
	}
	done := make(chan error, 1)
	go func() { done <- second.Unlock(context.Background()) }()
	harness.Eventually(t, "over", func() bool { return harness.Hold(second).Over() != nil })
	late.Release()
	for _, e := range held {
		harness.Within(t, "the releases leave", e.Seen())
	}
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.Holders("job"), err)
	case <-time.After(harness.FaultRequest / 10):
	}
	held[0].Release()
	harness.Must(t, <-done)
	harness.Must(t, harness.MustTry(t, rival, "job").Unlock(context.Background()))
	held[1].Release()
}

// A master where another's release has not arrived is not free.
func TestUnlockDoesNotCountWhatAnotherHas(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	before, c, rival := harness.FaultClient(d), harness.FaultClient(d), harness.FaultClient(d)
	lock := harness.MustTry(t, before, "job")
	harness.Eventually(t, "held everywhere", func() bool { return d.Holders("job") == "111" })
	others := proxies[2].Add(harness.On(script.Release, 1, faultproxy.HoldRequest))
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Within(t, "the release of the hold before leaves", others.Seen())
	lock = harness.MustTry(t, c, "job")
	harness.Eventually(t, "all have voted", func() bool { return harness.Hold(lock).Master(2).Absent() })
	own := proxies[1].Add(harness.On(script.Release, 1, faultproxy.HoldRequest))
	done := make(chan error, 1)
	go func() { done <- lock.Unlock(context.Background()) }()
	harness.Within(t, "the release leaves", own.Seen())
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.Holders("job"), err)
	case <-time.After(harness.FaultRequest / 10):
	}
	own.Release()
	harness.Must(t, <-done)
	harness.Must(t, harness.MustTry(t, rival, "job").Unlock(context.Background()))
	others.Release()
}

// A master that lost its data has nothing of the lock, and no vote for the next one to ask.
func TestUnlockDoesNotCountWhoHasNoVote(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c, rival := harness.FaultClient(d), harness.FaultClient(d)
	report := proxies[0].Add(faultproxy.Rule{On: faultproxy.Match("eval", "-- report:"), Do: faultproxy.HoldRequest})
	harness.Must(t, d.Raw[0].FlushAll(context.Background()).Err())
	lock := harness.MustTry(t, c, "job")
	harness.Eventually(t, "all have voted", func() bool { return harness.Hold(lock).Master(0).Absent() })
	last := proxies[2].Add(harness.On(script.Release, 1, faultproxy.HoldRequest))
	done := make(chan error, 1)
	go func() { done <- lock.Unlock(context.Background()) }()
	harness.Within(t, "the release leaves", last.Seen())
	select {
	case err := <-done:
		t.Fatalf("locked on %s, and Unlock returned %v", d.Holders("job"), err)
	case <-time.After(harness.FaultRequest / 10):
	}
	last.Release()
	harness.Must(t, <-done)
	harness.Must(t, harness.MustTry(t, rival, "job").Unlock(context.Background()))
	report.Release()
}

// Two handles of one hold are unlocked at the same time. What the one that is not the last asks for
// may come to the masters after the release.
func TestHandlesUnlockedTogether(t *testing.T) {
	t.Parallel()
	harness.OnProcesses(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		times := 1000
		if testing.Short() {
			times /= 10
		}
		for range times {
			lock := harness.MustTry(t, c, "job")
			again, err := c.TryLock(lock.Context(), "job")
			harness.Must(t, err)
			var both sync.WaitGroup
			start := make(chan struct{})
			for _, l := range []*redlock.Lock{lock, again} {
				both.Go(func() { <-start; harness.Check(t, l.Unlock(context.Background())) })
			}
			close(start)
			both.Wait()
			if t.Failed() {
				return
			}
		}
	})
}

// A repair whose connection breaks is sent again, and is done. Its first copy comes after the
// release.
func TestLateCopyOfARepairCannotStand(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	lock := harness.MustTry(t, c, "job")
	late := proxies[0].Add(harness.On(script.Repair, 1, faultproxy.HoldRequest))
	d.Drop(c, "job", 0)
	harness.Within(t, "the repair leaves", late.Seen())
	again := proxies[0].Add(harness.On(script.Repair, 1, faultproxy.Pass))
	proxies[0].CutAll()
	harness.Within(t, "it is sent again", again.Answered())
	harness.Eventually(t, "it is granted", func() bool { return harness.Hold(lock).Master(0).Granted })
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Settled(t, c)
	harness.RequireFree(t, d, "job")
	late.Release()
	harness.Within(t, "the first copy comes", late.Answered())
	if got := d.Holders("job"); got != "000" {
		t.Errorf("held on %s", got)
	}
}

// A writer gave up waiting beside a reader. Its requests come after that: they stand in line for
// nobody, and keep no other reader out.
func TestLateEnqueueStandsInNoLine(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c, writer := harness.FaultClient(d), harness.FaultClient(d)
	reader, err := c.TryRLock(context.Background(), "job")
	harness.Must(t, err)
	busy := harness.MustTry(t, c, "busy")
	ctx, cancel := context.WithCancel(context.Background())
	waits := make(chan struct{}) // so that the writer's client can be called
	go func() { defer close(waits); _, _ = writer.Lock(ctx, "busy") }()
	d.InLine("busy", 1)
	harness.Settled(t, writer)
	var late, left []*faultproxy.Fault
	for _, p := range proxies[:2] {
		late = append(late, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Enqueue.Name, "lock:job"), Nth: 1, Do: faultproxy.HoldRequest}))
		left = append(left, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Leave.Name, "lock:job"), Nth: 1, Do: faultproxy.Pass}))
	}
	impatient, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	_, err = writer.Lock(impatient, "job")
	harness.RequireErr(t, err, redlock.ErrNotAcquired)
	for i := range left {
		harness.Within(t, "it leaves the line", left[i].Answered())
		late[i].Release()
		harness.Within(t, "it asks for a place", late[i].Answered())
	}
	harness.Settled(t, writer)
	d.InLine("job", 0)
	another, err := c.TryRLock(context.Background(), "job")
	harness.Must(t, err)
	cancel()
	<-waits
	for _, l := range []*redlock.Lock{another, reader, busy} {
		harness.Must(t, l.Unlock(context.Background()))
	}
}

// A repair that comes late must not bring a released lock back.
func TestLateRepairCannotStand(t *testing.T) {
	t.Parallel()
	lateWriteBackCannotStand(t, script.Repair, harness.MustTry)
}

// lateWriteBackCannotStand holds the operation that writes a lock back to a master until the lock
// is released.
func lateWriteBackCannotStand(t *testing.T, writeBack *script.Operation, try func(*testing.T, *redlock.Client, string, ...redlock.LockOption) *redlock.Lock) {
	t.Helper()
	d, proxies := harness.Proxied(t, 3)
	c := d.Reached(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL))
	lock := try(t, c, "job")
	late := proxies[0].Add(harness.On(writeBack, 1, faultproxy.HoldRequest))
	freed := proxies[0].Add(harness.On(script.Undo, 1, faultproxy.Pass))
	d.Drop(c, "job", 0)
	harness.Within(t, "late Seen", late.Seen())
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Within(t, "freed Answered", freed.Answered())
	late.Release()
	harness.Within(t, "late Answered", late.Answered())
	if got := d.Holders("job"); got != "000" {
		t.Errorf("held on %s", got)
	}
}
