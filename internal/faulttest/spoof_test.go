package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Anybody with the right to publish on a client's channel can call the client. However often a stranger does so, the
// client sends few requests, and a true notice still counts.
func TestSpoofedNoticesAreIgnored(t *testing.T) {
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
			awaitOffer(t, d, b, "job")
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

// A handed-over grant counts for its owner only, not for a newer attempt of the same client.
func TestGrantToOtherOwnerIsNoVote(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		held := harness.MustTry(t, a, "job")
		got := harness.GoLock(t, b, "job")
		awaitOffer(t, d, b, "job")
		for i := range d.Raw {
			publishGiven(t, d, b, i, i, harness.Hold(held).ID, 99, "job")
		}
		hasNot(t, got, held)
		harness.Must(t, held.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
	})
}

// awaitOffer waits until c is in the queue with an offer that releases may take.
func awaitOffer(t *testing.T, d *harness.Deployment, c *redlock.Client, name string) {
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

// publishGiven makes a master send c the notice that a release granted the lock on a member. It waits until c has it.
func publishGiven(t *testing.T, d *harness.Deployment, c *redlock.Client, master, member int, owner string, grant int64, name string) {
	t.Helper()
	id := harness.Inside(c).Members.View().IDs[member]
	notice := fmt.Sprintf("given %s %s %d %s", id, owner, grant, script.KeysOf(limits.DefaultPrefix, name, "").Lock)
	if script.ParseNotice(notice).Owner != owner {
		t.Fatalf("%q is no notice", notice)
	}
	receivers, err := d.Raw[master].Publish(context.Background(), harness.Channel(c), notice).Result()
	if err != nil || receivers != 1 {
		t.Fatalf("%d receive the notice of master %d, %v", receivers, master, err)
	}
	synctest.Wait()
}

// hasNot requires that a waiter did not acquire the held lock.
func hasNot(t *testing.T, got <-chan *redlock.Lock, held *redlock.Lock) {
	t.Helper()
	synctest.Wait()
	select {
	case lock := <-got:
		t.Fatalf("token %d beside the holder of token %d, which is valid: %t", lock.Token(), held.Token(), held.Valid())
	default:
	}
}

// astray is a master behind a proxy. While the flag on is set, the proxy sends batches to another server.
type astray struct {
	harness.Master
	other harness.Master
	on    *atomic.Bool
}

func (m astray) Options() *redis.Options {
	o := m.Master.Options()
	here, there := o.Dialer, m.other.Options().Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		one, err := here(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		other, err := there(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return spread(one, other, m.on), nil
	}
	return o
}

// spread returns a connection that delivers the replies of both servers.
func spread(here, there net.Conn, on *atomic.Bool) net.Conn {
	client, proxy := net.Pipe()
	back := func(from net.Conn) {
		_, _ = io.Copy(proxy, from)
		_ = proxy.Close()
	}
	go back(here)
	go back(there)
	go func() {
		to, batch := here, make([]byte, 1<<20)
		for {
			n, err := proxy.Read(batch)
			if err != nil {
				_ = here.Close()
				_ = there.Close()
				return
			}
			if bytes.HasPrefix(batch[:n], []byte("*")) {
				to = here
				if on.Load() && bytes.Contains(batch[:n], []byte(script.BatchSHA)) {
					to = there
				}
			}
			_, _ = to.Write(batch[:n]) // a broken connection shows when it is read
		}
	}()
	return client
}

// A server has one vote, wherever an address leads: a grant counts for the server's member id, not for the
// connection. Otherwise there could be two holders.
func TestOneServerHasOneVote(t *testing.T) {
	t.Parallel()
	harness.RunInVirtualTime(t, "a proxy spreads the batches", 3, func(t *testing.T, d *harness.Deployment) {
		a := d.Reached()
		var on atomic.Bool
		whole := d.Masters
		d.Masters = append([]harness.Master{astray{whole[0], whole[1], &on}}, whole[1:]...)
		b := d.Reached()
		d.Masters = whole
		free, held := heldWithoutMaster1(t, d, a, "job")
		on.Store(true)
		free()
		got := harness.GoLock(t, b, "job")
		time.Sleep(5 * time.Second) // the waiter asks again in this time
		hasNot(t, got, held)
		on.Store(false)
		lockedAfter(t, got, held)
	})
	harness.RunInVirtualTime(t, "a subscription leads to another server", 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		free, held := heldWithoutMaster1(t, d, a, "job")
		got := harness.GoLock(t, b, "job")
		awaitOffer(t, d, b, "job")
		free()
		synctest.Wait()
		given := harness.LockOn(t, d.Raw[1], "job")
		grant, err := strconv.ParseInt(given.Grant, 10, 64)
		if err != nil || given.Waited == "" {
			t.Fatalf("master 1 has %q: no release granted it", given)
		}
		publishGiven(t, d, b, 0, 1, given.Owner, grant, "job")
		hasNot(t, got, held)
		lockedAfter(t, got, held)
	})
}

// heldWithoutMaster1 makes c hold a name on masters 0 and 2. On master 1, another owner has the name until free()
// is called.
func heldWithoutMaster1(t *testing.T, d *harness.Deployment, c *redlock.Client, name string) (free func(), held *redlock.Lock) {
	t.Helper()
	other := &lease.Owner{ID: "other", Keys: script.KeysOf(limits.DefaultPrefix, name, "other")}
	_, err := harness.CallIn(d.Raw[1], other.AcquireCall(quorum.TermsOf(time.Minute, 0, 0), lease.Place{}))
	harness.Must(t, err)
	for range 5 {
		harness.Must(t, harness.MustTry(t, c, name).Unlock(context.Background()))
	}
	held = harness.MustTry(t, c, name)
	harness.Settled(t, c) // master 1 has refused it
	if on := d.Holders(name); on != "111" || harness.LockOn(t, d.Raw[1], name).Owner != other.ID {
		t.Fatalf("it is held on %s, and on master 1 by %q", on, harness.LockOn(t, d.Raw[1], name))
	}
	return func() {
		_, err := harness.CallIn(d.Raw[1], other.ReleaseCall())
		harness.Must(t, err)
	}, held
}

// lockedAfter unlocks a lock, and checks that a waiter then gets it, with a higher token.
func lockedAfter(t *testing.T, got <-chan *redlock.Lock, held *redlock.Lock) {
	t.Helper()
	token := held.Token()
	harness.Must(t, held.Unlock(context.Background()))
	lock := harness.Have(t, got)
	if lock.Token() <= token {
		t.Errorf("token %d after %d", lock.Token(), token)
	}
	harness.Must(t, lock.Unlock(context.Background()))
}
