package redlock

import (
	"context"
	"testing"
	"time"
)

// A head whose context ends in the middle of an attempt may have been called for
// it: the next in line has that from nobody, and must ask.
func TestTheHeirOfAnAttemptAsks(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.founded()
		head := c.names.join("job", c.config.lock)
		heir := c.names.join("job", c.config.lock)
		head.queued, head.askAt = true, c.now().Add(askInterval)
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, _, err := c.tryFor(ctx, "job", head, nil)
		requireErr(t, err, context.Canceled)
		c.quit("job", head, nil)
		if mine, early, _, _ := c.names.turn("job", heir); !mine || early && c.now().Before(heir.askAt) {
			t.Errorf("it is the heir's turn: %v; it may only ask in %v", mine, heir.askAt.Sub(c.now()))
		}
		c.quit("job", heir, nil)
	})
}

// An attempt that was handed over is concluded before there is another: one that
// is forgotten leaves what it was granted.
func TestNoHandedAttemptIsForgotten(t *testing.T) {
	t.Parallel()
	var n names
	w := n.join("job", lockConfig{})
	first := &attempt{}
	for i, want := range []*attempt{first, nil} {
		h := &hold{name: "job"}
		n.add(h)
		if got := n.handOver(h, func(*waiter) *attempt { return first }); got != want {
			t.Errorf("hand-over %d: %p, want %p", i, got, want)
		}
	}
	if _, _, handed, _ := n.turn("job", w); handed != first {
		t.Errorf("the waiter has %p", handed)
	}
}

// Calls that come while a handed attempt is under way are for the next one.
func TestCallsOutliveAHandedAttempt(t *testing.T) {
	t.Parallel()
	var n names
	w := n.join("job", lockConfig{})
	h := &hold{name: "job"}
	n.add(h)
	n.handOver(h, func(*waiter) *attempt { return &attempt{} })
	for master := range 2 {
		n.called("job", master, 2, func() { t.Error("unwanted") })
	}
	<-n.sleeper(w) // one for all
	if _, _, handed, _ := n.turn("job", w); handed == nil {
		t.Fatal("nothing was handed over")
	}
	select {
	case <-n.sleeper(w):
	case <-time.After(time.Second):
		t.Error("nobody wakes the waiter for what it was called")
	}
	if got := n.calls(w); got != 2 {
		t.Errorf("%d calls are left of 2", got)
	}
}
