package faulttest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Anybody who may publish on a client's channel can call it. However often that is done, on how
// many masters and for which name, the client sends little, and a notice that is true still counts.
func TestFalseNoticesMakeNobodyAsk(t *testing.T) {
	t.Parallel()
	const seconds = 2
	for what, x := range map[string]struct {
		on   []int
		key  func(d *harness.Deployment) string
		most int // calls to a master in that time
	}{
		"of one master":         {[]int{0}, func(*harness.Deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"of a quorum":           {[]int{0, 1}, func(*harness.Deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"of all masters":        {[]int{0, 1, 2}, func(*harness.Deployment) string { return script.KeysOf(limits.DefaultPrefix, "job", "").Lock }, 20},
		"for a name not waited": {[]int{0, 1, 2}, func(*harness.Deployment) string { return script.KeysOf(limits.DefaultPrefix, "other", "").Lock }, 20 + (seconds+1)*waitqueue.MaxUnwanted},
		"for another bucket":    {[]int{0, 1, 2}, func(*harness.Deployment) string { return limits.DefaultPrefix + ":{7}:lock:job" }, 20},
		"for a giant name": {[]int{0, 1, 2}, func(*harness.Deployment) string {
			return script.KeysOf(limits.DefaultPrefix, strings.Repeat("x", limits.MaxNameLen+1), "").Lock
		}, 20},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := harness.Proxied(t, 3)
			a, b := harness.FaultClient(d), harness.FaultClient(d)
			held := harness.MustTry(t, a, "job", redlock.WithTTL(time.Minute-time.Second), redlock.WithoutWatchdog())
			got := harness.GoLock(t, b, "job")
			d.InLine("job", 1)
			for _, p := range proxies {
				p.Forget()
			}
			ctx, cancel := context.WithTimeout(context.Background(), seconds*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for _, i := range x.on {
				all.Go(func() {
					for ctx.Err() == nil {
						d.Raw[i].Publish(context.Background(), harness.Channel(b), x.key(d))
						time.Sleep(time.Millisecond)
					}
				})
			}
			all.Wait()
			for i, p := range proxies {
				if n := p.Count(faultproxy.Match("evalsha")); n > x.most {
					t.Errorf("a waiter sent %d calls to master %d in %d s, want at most %d", n, i, seconds, x.most)
				}
			}
			harness.Must(t, held.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		})
	}
}

// That a release granted the lock counts for the owner that it was granted to, and for no other:
// not for one that the same client asks with now.
func TestAGrantToAnotherOwnerIsNoVote(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		held := harness.MustTry(t, a, "job")
		got := harness.GoLock(t, b, "job")
		standsWithOffer(t, d, b, "job")
		for i := range d.Raw {
			publishGiven(t, d, b, i, i, harness.Hold(held).ID, 99, "job")
		}
		hasNot(t, got, held)
		harness.Must(t, held.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
	})
}

// standsWithOffer waits until c stands in line with an offer that releases may take.
func standsWithOffer(t *testing.T, d *harness.Deployment, c *redlock.Client, name string) {
	t.Helper()
	d.TicketOf(c, name)
	synctest.Wait()
	offer := strings.TrimSuffix(script.KeysOf(limits.DefaultPrefix, name, "").Lock, "lock:"+name) + "offer:" + harness.Channel(c) + " " + name
	offers := 0
	for _, r := range d.Raw {
		offers += int(r.Exists(context.Background(), offer).Val())
	}
	if offers != len(d.Raw) {
		t.Fatalf("it has an offer on %d masters", offers)
	}
}

// publishGiven has a master tell c that a release granted the lock to an owner on a member, which
// may be another one, and waits until c has heard it.
func publishGiven(t *testing.T, d *harness.Deployment, c *redlock.Client, master, member int, owner string, grant int64, name string) {
	t.Helper()
	id := harness.Inside(c).Members.View().IDs[member]
	notice := fmt.Sprintf("given %s %s %d %s", id, owner, grant, script.KeysOf(limits.DefaultPrefix, name, "").Lock)
	if _, lockKey := script.ParseGiven(strings.TrimPrefix(notice, "given ")); lockKey == "" {
		t.Fatalf("%q is no notice", notice)
	}
	hear, err := d.Raw[master].Publish(context.Background(), harness.Channel(c), notice).Result()
	if err != nil || hear != 1 {
		t.Fatalf("%d hear the notice of master %d, %v", hear, master, err)
	}
	synctest.Wait()
}

// hasNot fails the test if somebody has got the lock that is held.
func hasNot(t *testing.T, got <-chan *redlock.Lock, held *redlock.Lock) {
	t.Helper()
	synctest.Wait()
	select {
	case lock := <-got:
		t.Fatalf("token %d beside the holder of token %d, which is valid: %t", lock.Token(), held.Token(), held.Valid())
	default:
	}
}
