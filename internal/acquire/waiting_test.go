package acquire_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// If the context of the first waiter ends during an attempt, masters may have called that waiter. So the next waiter
// must ask by itself.
func TestInheritedAttemptAsks(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := inside(d.Reached())
		first, next := c.Join("job", options()), c.Join("job", options())
		first.EverAsked = true
		first.Step()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		harness.RequireErr(t, first.Try(ctx), context.Canceled)
		first.Leave()
		if do := next.Step(); do != waitqueue.Ask {
			t.Errorf("the next waiter: %v, want ask", do)
		}
		next.Leave()
	})
}

// A handover needs only voting masters. The release reaches all masters that had the lock, even one that does not vote.
func TestHandOverWithNonVotingMember(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		harness.Must(t, admin.ChangeMembers(context.Background(), c, admin.SuspendMember(d.Address(0)), nil))
		lock := harness.MustTry(t, c, "job")
		next := harness.GoLock(t, c, "job")
		harness.Eventually(t, "the next one waits", func() bool { return harness.Waiting(c, "job") == 1 })
		harness.Settled(t, c)
		start := time.Now()
		harness.Must(t, lock.Unlock(context.Background()))
		lock = harness.Have(t, next)
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("the hand-over took %v", took)
		}
		harness.Settled(t, c)
		if got := d.Holders("job"); got != "011" {
			t.Errorf("held on %s", got)
		}
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// A request that must arrive is retried only while it is of use, and not for as long as the master is down.
func TestRequestsToDeadMasterEnd(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		c := inside(d.Reached())
		d.Masters[0].Die()
		dead := c.Masters[0]
		leave := c.LeaveRequest("job")
		leave.Until = c.Now().Add(script.QueueTTL)
		wanted := c.LeaveRequest("wanted")
		wanted.Until, wanted.Policy = leave.Until, acquire.ObsoleteIf(func(int) bool { return true })
		dead.Submit(leave)
		harness.Eventually(t, "kept", func() bool { return dead.Pending() == 1 })
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

// Only voting masters call waiters: subscriptions at other masters do not count, and subscriptions at the members
// suffice.
func TestCallsOfNonVotingMasters(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		whole, raw := d.Masters, d.Raw
		d.Masters, d.Raw = whole[:3], raw[:3]
		operator := d.Reached()
		d.Masters, d.Raw = whole, raw
		held := []*redlock.Lock{harness.MustTry(t, operator, "job"), harness.MustTry(t, operator, "other")}
		c := d.Stranger() // two of its five masters are no members
		harness.GoLock(t, c, "job")
		reaches := func(want bool, when string) {
			t.Helper()
			time.Sleep(time.Second) // until subscriptions are live, or are known to be broken
			synctest.Wait()
			if got := inside(c).Reached(); got != want {
				t.Errorf("%s: a quorum can call: %v", when, got)
			}
		}
		reaches(true, "all members vote")
		d.Masters[0].Die()
		reaches(true, "one of three is dead")
		harness.GoLock(t, c, "other")
		synctest.Wait()
		if !inside(c).NextTicket().Known() {
			t.Error("the times of two of three members are not enough for a ticket")
		}
		d.Masters[0].Revive()
		reaches(true, "it is back")
		harness.Must(t, admin.ChangeMembers(context.Background(), operator, admin.SuspendMember(d.Address(2)), nil))
		reaches(true, "two vote, and one is suspended")
		d.Masters[1].Die()
		reaches(false, "one votes, one is suspended, and one is dead")
		if got := inside(c).CallsNeeded(); got != 1 {
			t.Errorf("a waiter asks when %d masters call, and one can", got)
		}
		d.Masters[1].Revive()
		reaches(true, "two vote again")
		harness.UnlockAll(t, held...)
	})
}
