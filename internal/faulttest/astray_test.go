package faulttest

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
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

// astray is a master that is reached through a proxy, which sends each batch to another server while
// on is set.
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

// spread returns a connection of which both servers' replies come back.
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
			_, _ = to.Write(batch[:n]) // that it is broken shows when it is read
		}
	}()
	return client
}

// Wherever an address leads, a server has one vote: what it grants is counted for the member that
// it is, not for the connection by which the grant came. Without that there were two holders, and a
// lower token after a higher one.
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
		time.Sleep(5 * time.Second) // it asks again meanwhile
		hasNot(t, got, held)
		on.Store(false)
		lockedAfter(t, got, held)
	})
	harness.RunInVirtualTime(t, "a subscription leads to another server", 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		free, held := heldWithoutMaster1(t, d, a, "job")
		got := harness.GoLock(t, b, "job")
		standsWithOffer(t, d, b, "job")
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

// heldWithoutMaster1 makes c hold a name on masters 0 and 2. On master 1, whose counter is behind,
// another owner has it until free is called.
func heldWithoutMaster1(t *testing.T, d *harness.Deployment, c *redlock.Client, name string) (free func(), held *redlock.Lock) {
	t.Helper()
	other := &lease.Owner{ID: "other", Keys: script.KeysOf(limits.DefaultPrefix, name, "other")}
	_, err := harness.CallIn(script.BatchSource, d.Raw[1], other.AcquireCall(quorum.TermsOf(time.Minute, 0, 0), lease.Place{}))
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
		_, err := harness.CallIn(script.BatchSource, d.Raw[1], other.ReleaseCall())
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
