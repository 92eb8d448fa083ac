package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
)

// Close takes two request timeouts and a dial at most while masters hang, whatever is asked past
// the queues then: some of that has 5 s.
func TestCloseWaitsForNothingThatIsAskedPastTheQueues(t *testing.T) {
	t.Parallel()
	const request, trip = 250 * time.Millisecond, 5 * time.Millisecond
	for _, x := range []struct {
		claim string
		loses bool          // a master loses its data, and comes back as a member
		step  time.Duration // the masters hang, or the client closes, after each multiple of it
	}{
		{"a waiter subscribes", false, 50 * time.Millisecond},
		{"a member comes back", true, trip / 2},
	} {
		for n := range time.Duration(20) {
			harness.RunInVirtualTime(t, fmt.Sprint(x.claim, ", ", n*x.step), 3, func(t *testing.T, d *harness.Deployment) {
				t.Cleanup(func() { time.Sleep(trip) }) // what is on its way arrives
				masters := d.Masters
				hang := func() {
					for _, m := range masters {
						m.Freeze()
					}
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
				for _, m := range masters {
					m.Thaw()
				}
				harness.Must(t, held.Unlock(context.Background()))
			})
		}
	}
}
