package waitqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Reach shows since when a quorum of subscriptions has been live without a break.
func TestReach(t *testing.T) {
	t.Parallel()
	var now clock.Instant
	n := NewNotices(5, 3, func() clock.Instant { return now }, nil)
	for i, step := range []struct {
		master  int
		up      bool
		quorum  bool
		since   clock.Instant
		changed bool
	}{
		{0, true, false, 0, false},
		{1, true, false, 0, false},
		{2, true, true, 3, true},
		{3, true, true, 3, false},
		{4, true, true, 3, false},
		{0, false, true, 4, true}, // the third live subscription has been live since 4
		{0, true, true, 4, false},
		{0, false, true, 4, false}, // a subscription that breaks again and again does not matter
		{1, false, true, 5, true},
		{0, true, true, 5, false},
		{2, false, true, 10, true}, // only the subscription that came back last makes the quorum
		{0, true, true, 12, true},  // the subscription is live again, though its break was not reported
		{0, false, false, 0, true},
	} {
		now = clock.Instant(i + 1)
		before := n.Reach().changed
		n.Set(context.Background(), step.master, step.up)
		changed := false
		select {
		case <-before:
			changed = true
		default:
		}
		if got := n.Reach(); got.Quorum != step.quorum || got.since != step.since || changed != step.changed {
			t.Errorf("step %d: quorum %v since %v, changed %v; want %+v", i+1, got.Quorum, got.since, changed, step)
		}
	}
	if r := (Reach{Quorum: true, since: 5}); !r.covers(5) || r.covers(4) || (Reach{}).covers(5) {
		t.Error("callers are covered that asked before the subscriptions were confirmed")
	}
}

// Subscriptions at non-voting masters do not count. A quorum is a quorum of the members, not of the masters.
func TestReachOfMembers(t *testing.T) {
	t.Parallel()
	n := NewNotices(4, 3, func() clock.Instant { return 1 }, nil)
	n.Set(context.Background(), 0, true)
	n.Set(context.Background(), 3, true)
	if n.Reach().Quorum || n.Reach().Calls != 2 {
		t.Errorf("two of four: %+v, %d", n.Reach(), n.Reach().Calls)
	}
	n.SetQuorum(2, []bool{false, false, false, true})
	if n.Reach().Quorum || n.Reach().Calls != 1 {
		t.Errorf("one of three members: %+v, %d", n.Reach(), n.Reach().Calls)
	}
	before := n.Reach().changed
	n.SetQuorum(2, make([]bool, 4))
	if !n.Reach().Quorum || n.Reach().Calls != 2 {
		t.Errorf("two, which are enough now: %+v, %d", n.Reach(), n.Reach().Calls)
	}
	select {
	case <-before:
	default:
		t.Error("nobody was notified")
	}
}

// Subscriptions begin with the first listener. They end some time after the last listener has left, or with
// Close. After Close, no subscription begins.
func TestSubscriptionsEndWithoutListeners(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		standing := 0
		var n *Notices
		n = NewNotices(1, 1, func() clock.Instant { return clock.Instant(time.Since(begin)) + 1 }, func(ctx context.Context, master int) {
			standing++
			n.Set(ctx, master, true)
			<-ctx.Done()
			standing--
		})
		want := func(subscriptions, listeners int, after time.Duration, when string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if standing != subscriptions || n.listeners != listeners || n.Reach().Quorum != (subscriptions > 0) {
				t.Errorf("%s: %d subscriptions, %d listeners, %+v; want %d and %d", when, standing, n.listeners, n.Reach(), subscriptions, listeners)
			}
		}
		var a, b, late Listener
		n.Rest(&a)
		want(0, 0, SubscriptionsIdle, "at first")
		n.Listen(&a)
		n.Listen(&a)
		n.Listen(&b)
		want(1, 2, 0, "two listen, one of them twice")
		n.Rest(&a)
		want(1, 1, 2*SubscriptionsIdle, "one listens")
		n.Rest(&b)
		want(1, 0, SubscriptionsIdle-1, "a moment after the last")
		a, b = Listener{}, Listener{}
		n.Listen(&a)
		want(1, 1, 2*SubscriptionsIdle, "one came in time")
		n.Rest(&a)
		want(0, 0, SubscriptionsIdle, "nobody came")
		n.Listen(&b)
		want(1, 1, SubscriptionsIdle, "one came later")
		n.Close()
		want(0, 0, 0, "closed")
		n.Listen(&late)
		want(0, 0, SubscriptionsIdle, "one comes after that")
	})
}

// At most MaxUnwanted calls that no waiter wants are answered in a second, for each master
// separately.
func TestUnwantedCallAnswersAreBounded(t *testing.T) {
	t.Parallel()
	now := clock.Instant(1)
	n := NewNotices(2, 1, func() clock.Instant { return now }, nil)
	answered := func(master int) (count int) {
		for range 3 * MaxUnwanted {
			if n.AnswerUnwanted(master) {
				count++
			}
		}
		return count
	}
	for i, x := range []struct {
		after  time.Duration
		master int
		want   int
	}{
		{0, 0, MaxUnwanted},
		{time.Second - 1, 0, 0},
		{0, 1, MaxUnwanted},
		{1, 0, MaxUnwanted},
		{time.Second - 1, 1, MaxUnwanted},
	} {
		now = now.Add(x.after)
		if got := answered(x.master); got != x.want {
			t.Errorf("step %d: %d are answered, want %d", i+1, got, x.want)
		}
	}
}
