package faulttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// The tests of this file are about late answers, requests to masters that are gone, and an Unlock during Close.

func TestLateExtend(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithRequestTimeout(2 * time.Second))
		lock := harness.MustTry(t, c, "job", redlock.WithTTL(3*time.Second), redlock.WithLockDelay(10*time.Second), redlock.WithoutWatchdog())
		time.Sleep(2 * time.Second)
		harness.All(d.Masters, harness.Master.Freeze)
		go func() {
			time.Sleep(1500 * time.Millisecond) // the lease is over, and the masters keep the lock
			harness.All(d.Masters, harness.Master.Thaw)
		}()
		harness.RequireErr(t, lock.Extend(context.Background(), 3*time.Second), redlock.ErrExpired)
		if lock.Valid() {
			t.Error("it is valid again")
		}
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
	})
}

// An Unlock that has not sent its release before Close still gets the masters' answers.
func TestCloseWaitsForRelease(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithObserver(redlock.Observer{Ended: func(context.Context, redlock.HoldEnd) { time.Sleep(time.Second) }}))
		lock := harness.MustTry(t, c, "job")
		synctest.Wait() // all masters have voted
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

// A late grant on a working connection is followed by its release, so no gone mark is needed.
func TestLateGrantLeavesNoMark(t *testing.T) {
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

// A report that was asked for before a look began does not end this look.
func TestLookWaitsForNewReport(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	report := faultproxy.Match("eval", ".forgot")
	old := proxies[0].Add(faultproxy.Rule{On: report, Nth: 1, Do: faultproxy.HoldReply})
	next := proxies[1].Add(faultproxy.Rule{On: report, Nth: 2, Do: faultproxy.HoldReply})
	var looks sync.WaitGroup
	looks.Go(func() { harness.Members(t, c) })
	harness.Within(t, "a report is under way", old.Seen())
	me := d.Register(0)["id"]
	harness.Must(t, d.Raw[0].HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "names:"+me, "elsewhere:1").Err())
	looks.Go(func() {
		for _, m := range harness.Members(t, c).Members {
			if m.ID == me && !slices.Contains(m.Names, "elsewhere:1") {
				t.Errorf("the old report counts: the names are %q", m.Names)
			}
		}
	})
	harness.Within(t, "the next look begins", next.Seen())
	old.Release()
	next.Release()
	looks.Wait()
}

// The acquire of the second hold is dropped while it waits behind the release of the first hold. The release of the
// second hold must not be dropped: its answer would count before the first hold is freed.
func TestUnlockWaitsForPreviousRelease(t *testing.T) {
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

// While masters hang, Close takes at most two request timeouts and a dial, even if direct requests are under way. (A
// direct request has a timeout of 5 s.)
func TestCloseDoesNotWaitForDirectRequests(t *testing.T) {
	t.Parallel()
	const request, trip = 250 * time.Millisecond, 5 * time.Millisecond
	for _, x := range []struct {
		claim string
		loses bool          // a master loses its data, and comes back as a member
		step  time.Duration // the masters hang, or the client closes, after each multiple of this time
	}{
		{"a waiter subscribes", false, 50 * time.Millisecond},
		{"a member comes back", true, trip / 2},
	} {
		for n := range time.Duration(20) {
			harness.RunInVirtualTime(t, fmt.Sprint(x.claim, ", ", n*x.step), 3, func(t *testing.T, d *harness.Deployment) {
				t.Cleanup(func() { time.Sleep(trip) }) // until the messages under way have arrived
				masters := d.Masters
				hang := func() {
					harness.All(masters, harness.Master.Freeze)
				}
				held := harness.MustTry(t, d.Reached(), "job")
				d.Masters = append([]harness.Master(nil), masters...)
				d.MoveAway(func() time.Duration { return trip })
				c := d.Reached(redlock.WithRequestTimeout(request))
				go func() {
					if _, err := c.Lock(context.Background(), "job"); err == nil {
						t.Error("it has a lock that another has")
					}
				}()
				if x.loses {
					masters[2].(harness.EmbeddedMaster).Kill(true)
					masters[2].Revive()
					time.Sleep(n * x.step)
					hang()
				} else {
					hang()
					time.Sleep(n * x.step)
				}
				began := time.Now()
				harness.Must(t, c.Close())
				if took := time.Since(began); took > 2*request+2*trip {
					t.Errorf("it took %v", took)
				}
				harness.All(masters, harness.Master.Thaw)
				harness.Must(t, held.Unlock(context.Background()))
			})
		}
	}
}
