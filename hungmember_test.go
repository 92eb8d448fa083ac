package redlock

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// While a member lost its data and comes back, another one may hang: what needs neither
// goes on, at its usual pace.
func TestAMemberComesBackBesideAHungOne(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		held := mustTry(t, c, "held")
		before := d.register(0)["id"]
		d.masters[4].freeze()
		defer d.masters[4].thaw()
		lost := d.masters[0].(embeddedMaster)
		lost.Kill(true)
		must(t, lost.Restart())
		slowest := time.Duration(0)
		back := func() bool { is := d.register(0); return is["votes"] != "" && is["id"] != before }
		for begin, i := time.Now(), 0; !back(); i++ {
			time.Sleep(20 * time.Millisecond)
			at := time.Now()
			lock, err := c.TryLock(background, fmt.Sprint("any ", i))
			must(t, err)
			must(t, lock.Unlock(background))
			slowest = max(slowest, time.Since(at))
			if time.Since(begin) > patience {
				t.Fatalf("it is not back: %v", d.register(0))
			}
		}
		if slowest > c.requestTimeout {
			t.Errorf("a lock took %v", slowest)
		}
		if !held.Valid() {
			t.Errorf("a hold ended: %v", context.Cause(held.Context()))
		}
		must(t, held.Unlock(background))
	})
}

// A client that waits for a member which hangs, to bring it back, learns of changes meanwhile.
func TestAClientThatBringsBackAMemberLearnsOfChanges(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		operator := d.client(recoveryOptions()...)
		lost := d.masters[0].(embeddedMaster)
		lost.Kill(true)
		must(t, lost.Restart())
		for d.register(0)["table"] == "" { // until it is a new member
			if lock, err := c.TryLock(background, "any"); err == nil {
				must(t, lock.Unlock(background))
			}
			time.Sleep(time.Millisecond)
		}
		lost.freeze()
		defer lost.thaw()
		time.Sleep(300 * time.Millisecond) // clients act after 200 ms at the latest
		must(t, operator.changeMembers(background, suspendMember(d.address(4)), nil))
		begin := time.Now()
		lock, err := c.TryLock(background, "job")
		must(t, err)
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("the change was learned of after %v", took)
		}
		must(t, lock.Unlock(background))
	})
}

// Of five members one hangs, and some of the others refuse a call for its version. The call does not wait for the one that
// hangs, once those that refused it can vote.
func TestARefusalForTheVersionBesideAHungMember(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		happen func(d *deployment, c *Client)
		within time.Duration
	}{
		{"two are ahead: they have accepted a change, which nobody finishes", func(d *deployment, c *Client) { d.halfSuspend(c, 2) }, 450 * time.Millisecond},
		{"two are behind", func(d *deployment, _ *Client) {
			for _, r := range d.raw[:2] {
				must(d.t, r.HSet(background, script.RegisterKey(limits.DefaultPrefix), "version", "0", "votes", "0", "promised", "0").Err())
			}
		}, 50 * time.Millisecond},
	} {
		for what, ask := range map[string]func(c *Client, held *Lock) error{
			"TryLock":  func(c *Client, _ *Lock) error { return unlocked(c.TryLock(background, "job")) },
			"Lock":     func(c *Client, _ *Lock) error { return unlocked(c.Lock(background, "job", WithWait(time.Second))) },
			"re-entry": func(c *Client, held *Lock) error { return unlocked(c.TryLock(held.Context(), "held")) },
			"Extend":   func(_ *Client, held *Lock) error { return held.Extend(background, limits.DefaultTTL) },
			"Verify": func(c *Client, held *Lock) error {
				verdict, err := c.Verify(background, "held", held.Token())
				if err == nil && verdict != VerifyValid {
					err = fmt.Errorf("verdict %v", verdict)
				}
				return err
			},
			"TryLockAll": func(c *Client, _ *Lock) error {
				locks, err := c.TryLockAll(background, []string{"a", "b"})
				if err == nil {
					err = locks.Unlock(background)
				}
				return err
			},
		} {
			t.Run(x.claim+": "+what, func(t *testing.T) {
				t.Parallel()
				inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
					c := d.reached(WithRequestTimeout(500 * time.Millisecond))
					held := mustTry(t, c, "held")
					settled(t, c)
					x.happen(d, c)
					d.masters[4].freeze()
					defer d.masters[4].thaw()
					begin := time.Now()
					if err := ask(c, held); err != nil {
						t.Error(err)
					}
					if took := time.Since(begin); took > x.within {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

// unlocked unlocks what was locked.
func unlocked(lock *Lock, err error) error {
	if err != nil {
		return err
	}
	return lock.Unlock(background)
}

// While the answer of a master that hangs is under way, one that failed is asked again, as soon as if nothing were under way: the
// hold has no time to wait for the other.
func TestARenewalAsksAgainBesideAHungMaster(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const ttl = time.Second
		var renewed []time.Duration
		var mu sync.Mutex
		var begin time.Time
		c := d.reached(WithTTL(ttl), WithRequestTimeout(ttl*9/10), WithObserver(Observer{Renewed: func(context.Context, Renewal) {
			mu.Lock()
			defer mu.Unlock()
			renewed = append(renewed, time.Since(begin))
		}}))
		begin = time.Now()
		lock := mustTry(t, c, "job")
		settled(t, c)
		d.masters[2].freeze()
		defer d.masters[2].thaw()
		d.masters[1].die()
		const back = 600 * time.Millisecond // before the lease ends, and the hung one is given up
		time.Sleep(back)
		d.masters[1].revive()
		time.Sleep(ttl - back)
		if !lock.Valid() {
			t.Fatalf("the hold ended: %v", context.Cause(lock.Context()))
		}
		mu.Lock()
		if len(renewed) == 0 || renewed[0] > back+ttl/lease.RenewRetries+master.MaxRetry {
			t.Errorf("renewed after %v, the master was back after %v", renewed, back)
		}
		mu.Unlock()
		must(t, lock.Unlock(background))
	})
}
