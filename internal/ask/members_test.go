package ask_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

func TestMain(m *testing.M) { harness.Run(m) }

// A call that masters refused because they lacked the version asks them again soon. It does not wait for other
// members, for example one that hangs.
func TestOutdatedMasterIsAskedAgain(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := harness.Inside(d.Reached())
		v := c.Members.View()
		outdated := &ask.Failure{Reason: ask.ErrNoQuorum, Votes: []script.Vote{{Err: script.ErrVersion}}}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if c.Members.Settled(context.Background(), v, time.Second) == nil {
			t.Fatal("the members are not settled")
		}
		if c.NewerView(context.Background(), outdated, v, c.Now().Add(time.Second)) == nil {
			t.Error("it is not asked again, though all is settled")
		}
		d.Masters[2].Freeze()
		for _, x := range []struct {
			claim string
			ctx   context.Context
			left  time.Duration
			again bool
			after time.Duration
		}{
			{"there is time", context.Background(), time.Second, true, ask.LearnPatience},
			{"its time is over before", context.Background(), ask.LearnPatience - 1, false, ask.LearnPatience - 1},
			{"there is no time", context.Background(), 0, false, 0},
			{"its context has ended", ended, time.Second, false, 0},
		} {
			c.Members.Kick() // the group asks the master that hangs for a report, for longer than ask.LearnPatience
			began := time.Now()
			now := c.NewerView(x.ctx, outdated, v, c.Now().Add(x.left))
			if took := time.Since(began); (now != nil) != x.again || took != x.after {
				t.Errorf("%s: asked again: %v, after %v; want %v, %v", x.claim, now != nil, took, x.again, x.after)
			}
		}
		d.Masters[2].Thaw()
	})
}
