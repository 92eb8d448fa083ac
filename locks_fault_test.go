package redlock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// What masters granted of a set, and nobody heard of, is given back for each name.
func TestSetRollbackReachesUnknownOutcomes(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	a, b := faultClient(d), faultClient(d)
	rival := mustTry(t, b, "b")
	d.drop(b, "b", 0)
	lost := proxies[0].Add(on(script.Joint, 1, faultproxy.CutAfterRequest))
	again := proxies[0].Add(on(script.Joint, 2, faultproxy.DropReply))
	_, err := a.TryLockAll(background, three)
	requireErr(t, err, ErrHeld)
	within(t, "lost Seen", lost.Seen())
	within(t, "again Seen", again.Seen())
	requireFree(t, d, "a")
	requireFree(t, d, "c")
	eventually(t, "the unknown grant is given back", func() bool { return d.holders("b") == "011" })
	must(t, rival.Unlock(background))
	must(t, mustAll(t, b, three).Unlock(background))
}

// An operation of a set that arrives after the set was given back grants nothing: each
// owner left its mark.
func TestLateSetCannotStand(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	var late, releases []*faultproxy.Fault
	for _, p := range proxies[:2] {
		late = append(late, p.Add(on(script.Joint, 1, faultproxy.HoldRequest)))
		for _, name := range three {
			releases = append(releases, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Undo.Name, script.KeysOf(limits.DefaultPrefix, name, "").Lock), Do: faultproxy.Pass}))
		}
	}
	_, err := c.TryLockAll(background, three)
	requireErr(t, err, ErrNoQuorum)
	for _, r := range releases {
		within(t, "a release is answered", r.Answered())
	}
	for _, f := range late {
		f.Release()
		within(t, "the late operation is answered", f.Answered())
	}
	requireHolders(t, d, "000", three...)
	must(t, mustAll(t, faultClient(d), three).Unlock(background))
}

// A repeated operation of a set is granted once.
func TestRepeatedSetCountsOnce(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	for _, p := range proxies {
		p.Add(on(script.Joint, 1, faultproxy.DuplicateRequest))
		p.Add(on(script.Joint, 2, faultproxy.CutAfterRequest))
	}
	for range 2 {
		locks, err := c.LockAll(background, three, WithWait(faultTTL))
		must(t, err)
		settled(t, c)
		for _, name := range three {
			for i, r := range d.raw {
				if is := lockOn(t, r, name); is.owner == "" || is.grant != locks.Token(name).String() && is.token != locks.Token(name).String() {
					t.Errorf("%s on master %d: %v, and the token is %v", name, i, is, locks.Token(name))
				}
			}
		}
		must(t, locks.Unlock(background))
		requireHolders(t, d, "000", three...)
	}
}

// A minority of masters that does not answer costs a set nothing; one that lost a counter
// is no member any more; and the members may change while a set is held.
func TestSetAmongMembers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 4, func(t *testing.T, d *deployment) {
		whole, raw := d.masters, d.raw
		d.masters, d.raw = whole[:3], raw[:3]
		c := d.reached(recoveryOptions()...)
		d.masters, d.raw = whole, raw
		d.masters[2].freeze()
		locks := mustAll(t, c, three)
		d.masters[2].thaw()
		operator := d.stranger(recoveryOptions()...)
		must(t, operator.changeMembers(background, replaceMember(d.address(2), d.address(3)), nil))
		time.Sleep(2 * recoveryTTL)
		if !locks.Valid() {
			t.Errorf("it is over: %v", locks)
		}
		must(t, locks.Unlock(background))

		must(t, d.raw[0].Del(background, script.KeysOf(limits.DefaultPrefix, "b", "").Fence).Err())
		again, err := operator.LockAll(background, three, WithWait(patience))
		must(t, err)
		for _, name := range three {
			if again.Token(name) <= locks.Token(name) {
				t.Errorf("%s: %v after %v", name, again.Token(name), locks.Token(name))
			}
		}
		must(t, again.Unlock(background))
	})
}

// To a far master several batches are under way at once. A set waits there until none
// has one of its names, and leaves whole.
func TestSetsOnFarMasters(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 2))
		d.moveAway(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		})
		c := d.reached()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 10 {
					names := []string{fmt.Sprint("own-", i), fmt.Sprint("shared-", (i+n)%4), fmt.Sprint("also own-", i)}
					locks, err := c.LockAll(background, names, WithWait(patience))
					if err != nil {
						t.Error(err)
						return
					}
					single, err := c.TryLock(background, fmt.Sprint("single-", i))
					check(t, err)
					if err := errors.Join(locks.Unlock(background), single.Unlock(background)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for i := range 8 {
			requireHolders(t, d, strings.Repeat("0", len(d.masters)), fmt.Sprint("own-", i), fmt.Sprint("also own-", i))
		}
	})
}

// Many sets at once fill more than a batch; none is cut.
func TestManySetsAtOnce(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.reached(WithRequestTimeout(10 * time.Second)) // a busy machine takes its time over so many
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var names []string
			for n := range 50 { // so that their groups do not fill batches
				names = append(names, fmt.Sprintf("%d-%d", i, n))
			}
			for range 3 {
				locks, err := c.TryLockAll(background, names)
				if err != nil {
					t.Errorf("free names were not granted: %v", err)
					return
				}
				check(t, locks.Unlock(background))
			}
		})
	}
	all.Wait()
}
