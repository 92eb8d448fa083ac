package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

var three = []string{"c", "a", "b"}

// What masters granted of a set, and nobody heard of, is given back for each name.
func TestSetRollbackReachesUnknownOutcomes(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	a, b := harness.FaultClient(d), harness.FaultClient(d)
	rival := harness.MustTry(t, b, "b")
	d.Drop(b, "b", 0)
	lost := proxies[0].Add(harness.On(script.Joint, 1, faultproxy.CutAfterRequest))
	again := proxies[0].Add(harness.On(script.Joint, 2, faultproxy.DropReply))
	_, err := a.TryLockAll(context.Background(), three)
	harness.RequireErr(t, err, redlock.ErrHeld)
	harness.Within(t, "lost Seen", lost.Seen())
	harness.Within(t, "again Seen", again.Seen())
	harness.RequireFree(t, d, "a")
	harness.RequireFree(t, d, "c")
	harness.Eventually(t, "the unknown grant is given back", func() bool { return d.Holders("b") == "011" })
	harness.Must(t, rival.Unlock(context.Background()))
	harness.Must(t, harness.MustAll(t, b, three).Unlock(context.Background()))
}

// An operation of a set that arrives after the set was given back grants nothing: each owner left
// its mark.
func TestLateSetCannotStand(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	var late, releases []*faultproxy.Fault
	for _, p := range proxies[:2] {
		late = append(late, p.Add(harness.On(script.Joint, 1, faultproxy.HoldRequest)))
		for _, name := range three {
			releases = append(releases, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Undo.Name, script.KeysOf(limits.DefaultPrefix, name, "").Lock), Do: faultproxy.Pass}))
		}
	}
	_, err := c.TryLockAll(context.Background(), three)
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	for _, r := range releases {
		harness.Within(t, "a release is answered", r.Answered())
	}
	for _, f := range late {
		f.Release()
		harness.Within(t, "the late operation is answered", f.Answered())
	}
	harness.RequireHolders(t, d, "000", three...)
	harness.Must(t, harness.MustAll(t, harness.FaultClient(d), three).Unlock(context.Background()))
}

// A repeated operation of a set is granted once.
func TestRepeatedSetCountsOnce(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	for _, p := range proxies {
		p.Add(harness.On(script.Joint, 1, faultproxy.DuplicateRequest))
		p.Add(harness.On(script.Joint, 2, faultproxy.CutAfterRequest))
	}
	for range 2 {
		locks, err := c.LockAll(context.Background(), three, redlock.WithWait(harness.FaultTTL))
		harness.Must(t, err)
		harness.Settled(t, c)
		for _, name := range three {
			for i, r := range d.Raw {
				if is := harness.LockOn(t, r, name); is.Owner == "" || is.Grant != locks.Token(name).String() && is.Token != locks.Token(name).String() {
					t.Errorf("%s on master %d: %v, and the token is %v", name, i, is, locks.Token(name))
				}
			}
		}
		harness.Must(t, locks.Unlock(context.Background()))
		harness.RequireHolders(t, d, "000", three...)
	}
}

// A minority of masters that does not answer costs a set nothing; one that lost a counter is no
// member any more; and the members may change while a set is held.
func TestSetAmongMembers(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		whole, raw := d.Masters, d.Raw
		d.Masters, d.Raw = whole[:3], raw[:3]
		c := d.Reached(harness.RecoveryOptions()...)
		d.Masters, d.Raw = whole, raw
		d.Masters[2].Freeze()
		locks := harness.MustAll(t, c, three)
		d.Masters[2].Thaw()
		operator := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, harness.ChangeMembers(context.Background(), operator, harness.ReplaceMember(d.Address(2), d.Address(3)), nil))
		time.Sleep(2 * harness.RecoveryTTL)
		if !locks.Valid() {
			t.Errorf("it is over: %v", locks)
		}
		harness.Must(t, locks.Unlock(context.Background()))

		harness.Must(t, d.Raw[0].Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "b", "").Fence).Err())
		again, err := operator.LockAll(context.Background(), three, redlock.WithWait(harness.Patience))
		harness.Must(t, err)
		for _, name := range three {
			if again.Token(name) <= locks.Token(name) {
				t.Errorf("%s: %v after %v", name, again.Token(name), locks.Token(name))
			}
		}
		harness.Must(t, again.Unlock(context.Background()))
	})
}

// To a far master several batches are under way at once. A set waits there until none has one of
// its names, and leaves whole.
func TestSetsOnFarMasters(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 2))
		d.MoveAway(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		})
		c := d.Reached()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 10 {
					names := []string{fmt.Sprint("own-", i), fmt.Sprint("shared-", (i+n)%4), fmt.Sprint("also own-", i)}
					locks, err := c.LockAll(context.Background(), names, redlock.WithWait(harness.Patience))
					if err != nil {
						t.Error(err)
						return
					}
					single, err := c.TryLock(context.Background(), fmt.Sprint("single-", i))
					harness.Check(t, err)
					if err := errors.Join(locks.Unlock(context.Background()), single.Unlock(context.Background())); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for i := range 8 {
			harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), fmt.Sprint("own-", i), fmt.Sprint("also own-", i))
		}
	})
}

// Many sets at once fill more than a batch; none is cut.
func TestManySetsAtOnce(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	c := d.Reached(redlock.WithRequestTimeout(10 * time.Second)) // a busy machine takes its time over so many
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var names []string
			for n := range 50 { // so that their groups do not fill batches
				names = append(names, fmt.Sprintf("%d-%d", i, n))
			}
			for range 3 {
				locks, err := c.TryLockAll(context.Background(), names)
				if err != nil {
					t.Errorf("free names were not granted: %v", err)
					return
				}
				harness.Check(t, locks.Unlock(context.Background()))
			}
		})
	}
	all.Wait()
}
