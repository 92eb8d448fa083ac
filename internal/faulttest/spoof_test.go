package faulttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// Anybody who may publish on a client's channel can call it. However often that is done, on all
// masters, the client sends few requests, and a true notice still counts.
func TestFalseNoticesMakeNobodyAsk(t *testing.T) {
	t.Parallel()
	const lasts = 2 * time.Second
	for what, name := range map[string]string{"for the name": "job", "for another name": "other", "for a giant name": strings.Repeat("x", limits.MaxNameLen+1)} {
		harness.RunInVirtualTime(t, what, 3, func(t *testing.T, d *harness.Deployment) {
			var asked harness.Recorder
			a, b := d.Reached(), d.Reached(redlock.WithObserver(redlock.Observer{
				AttemptFailed: func(context.Context, redlock.FailedAttempt) { asked.Note("asked") },
			}))
			held := harness.MustTry(t, a, "job")
			got := harness.GoLock(t, b, "job")
			standsWithOffer(t, d, b, "job")
			before := asked.Count("")
			for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(time.Millisecond) {
				for _, r := range d.Raw {
					r.Publish(context.Background(), harness.Channel(b), script.KeysOf(limits.DefaultPrefix, name, "").Lock)
				}
			}
			if n := asked.Count("") - before; n > 20 {
				t.Errorf("it asked %d times in %v, want at most 20", n, lasts)
			}
			harness.Must(t, held.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		})
	}
}

// A grant by a release counts for its owner, and for no other:
// not for the owner of the same client's present attempt.
func TestAGrantToAnotherOwnerIsNoVote(t *testing.T) {
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

// standsWithOffer waits until c is in the queue with an offer that releases may take.
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

// publishGiven makes a master notify c that a release granted the lock to an owner on a member, which
// may be another one, and waits until c has received it.
func publishGiven(t *testing.T, d *harness.Deployment, c *redlock.Client, master, member int, owner string, grant int64, name string) {
	t.Helper()
	id := harness.Inside(c).Members.View().IDs[member]
	notice := fmt.Sprintf("given %s %s %d %s", id, owner, grant, script.KeysOf(limits.DefaultPrefix, name, "").Lock)
	if script.ParseNotice(notice).Owner != owner {
		t.Fatalf("%q is no notice", notice)
	}
	hear, err := d.Raw[master].Publish(context.Background(), harness.Channel(c), notice).Result()
	if err != nil || hear != 1 {
		t.Fatalf("%d hear the notice of master %d, %v", hear, master, err)
	}
	synctest.Wait()
}

// hasNot fails the test if a waiter has got the lock that is held.
func hasNot(t *testing.T, got <-chan *redlock.Lock, held *redlock.Lock) {
	t.Helper()
	synctest.Wait()
	select {
	case lock := <-got:
		t.Fatalf("token %d beside the holder of token %d, which is valid: %t", lock.Token(), held.Token(), held.Valid())
	default:
	}
}
