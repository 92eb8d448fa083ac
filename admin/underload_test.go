package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// sent counts what clients send to masters about the members.
type sent struct {
	proposals, copies, reports atomic.Int64
}

var (
	promiseSHA  = []byte(redis.NewScript(script.PromiseSource).Hash())
	countersSHA = []byte(redis.NewScript(script.CountersSource).Hash())
)

// count counts the requests that a client sends in p.
func (s *sent) count(p []byte) {
	for what, n := range map[*[]byte]*atomic.Int64{&promiseSHA: &s.proposals, &countersSHA: &s.copies} {
		n.Add(int64(bytes.Count(p, *what)))
	}
	s.reports.Add(int64(bytes.Count(p, []byte("no-appendfsync-on-rewrite"))))
}

// A member is added while many clients, near and far, hold locks. No hold is lost, only one client at a time
// changes the members, and only one client copies the counters.
func TestAddMemberUnderLoad(t *testing.T) {
	t.Parallel()
	for clients, trip := range map[int]time.Duration{8: 0, 32: 25 * time.Millisecond, 128: 25 * time.Millisecond} {
		t.Run(fmt.Sprintf("%d clients, %v", clients, 2*trip), func(t *testing.T) {
			if testing.Short() && clients > 32 {
				t.Skip("NOT RUN with -short: 128 clients")
			}
			harness.InVirtualTime(t, 6, func(t *testing.T, d *harness.Deployment) { underLoad(t, d, clients, trip) })
		})
	}
}

func underLoad(t *testing.T, d *harness.Deployment, clients int, trip time.Duration) {
	const masters = 5
	opts := harness.RecoveryOptions(redlock.WithTTL(harness.RecoveryMaxTTL - time.Second))
	spare := d.Masters[masters]
	d.Masters = d.Masters[:masters]
	operator := d.Client(opts...)
	harness.Must(t, operator.Close())
	d.Masters = append(d.Masters, spare)
	if trip > 0 {
		d.MoveAway(func() time.Duration { return trip })
	}
	var n sent
	for i, m := range d.Masters {
		d.Masters[i] = watchedMaster{m, n.count}
	}
	var holds []*redlock.Lock
	for i := range clients {
		holds = append(holds, harness.MustLock(t, d.Stranger(opts...), fmt.Sprint("job", i)))
	}
	operator = d.Stranger(opts...)
	time.Sleep(time.Minute) // until the first requests of each client are over
	before := [3]int64{n.proposals.Load(), n.copies.Load(), n.reports.Load()}
	begin := time.Now()
	harness.Must(t, admin.ChangeMembers(background, operator, admin.AddMember(d.Address(masters)), nil))
	took := time.Since(begin)
	time.Sleep(30 * time.Second) // until each client has learned the version
	proposals, copies := float64(n.proposals.Load()-before[0])/masters, float64(n.copies.Load()-before[1])/3
	reports := float64(n.reports.Load()-before[2]) / float64(clients) / (masters + 1)
	t.Logf("added in %v by %.1f proposals and %.1f copies of the counters; %.1f looks a client at each master", took, proposals, copies, reports)
	if quarantine := harness.Inside(operator).Members.View().Table.Quarantine(); took > quarantine+2*time.Second {
		t.Errorf("it took %v, and the quarantine takes %v", took, quarantine)
	}
	if proposals > 5 || copies > 3 {
		t.Errorf("%.1f proposals and %.1f copies of the counters", proposals, copies)
	}
	for i, hold := range holds {
		if err := hold.Unlock(context.Background()); err != nil {
			t.Errorf("hold %d of %d: %v", i, clients, err)
		}
	}
}

// One of five members hangs, and others refuse a call because of its version. The call does not wait for the member
// that hangs.
func TestVersionRefusalWithHungMember(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		happen func(d *harness.Deployment, c *redlock.Client)
		within time.Duration
	}{
		{"two are ahead: they have accepted a change, which nobody finishes", func(d *harness.Deployment, c *redlock.Client) { halfSuspend(d, c, 2) }, 450 * time.Millisecond},
		{"two are behind", func(d *harness.Deployment, _ *redlock.Client) {
			for _, r := range d.Raw[:2] {
				harness.Must(d.T, r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "version", "0", "votes", "0", "promised", "0").Err())
			}
		}, 50 * time.Millisecond},
	} {
		for what, ask := range map[string]func(c *redlock.Client, held *redlock.Lock) error{
			"TryLock": func(c *redlock.Client, _ *redlock.Lock) error {
				return unlocked(c.TryLock(context.Background(), "job"))
			},
			"Extend": func(_ *redlock.Client, held *redlock.Lock) error {
				return held.Extend(context.Background(), limits.DefaultTTL)
			},
		} {
			harness.RunInVirtualTime(t, x.claim+": "+what, 5, func(t *testing.T, d *harness.Deployment) {
				c := d.Reached(redlock.WithRequestTimeout(500 * time.Millisecond))
				held := harness.MustTry(t, c, "held")
				harness.Settled(t, c)
				x.happen(d, c)
				d.Masters[4].Freeze()
				defer d.Masters[4].Thaw()
				begin := time.Now()
				if err := ask(c, held); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > x.within {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}

func unlocked(lock *redlock.Lock, err error) error {
	if err != nil {
		return err
	}
	return lock.Unlock(context.Background())
}
