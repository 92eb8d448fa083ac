package redlock

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// announced waits until all masters know who c is.
func (d *deployment) announced(c *Client) {
	d.t.Helper()
	eventually(d.t, "all masters know the client", func() bool { return d.knowing(c) == len(d.raw) })
}

// knowing is how many masters know who c is.
func (d *deployment) knowing(c *Client) (n int) {
	for _, r := range d.raw {
		if r.Exists(background, script.ClientKey(limits.DefaultPrefix, c.id)).Val() == 1 {
			n++
		}
	}
	return n
}

func mustTry2(t *testing.T, c *Client, ctx context.Context, name string) *Lock {
	t.Helper()
	lock, err := c.TryLock(ctx, name)
	must(t, err)
	return lock
}

// A master that lost who a client is gets to know it again within the hour.
func TestAMasterThatForgotAClientIsToldAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client(WithName("one"))
		lock := mustTry(t, c, "job")
		d.announced(c)
		key := script.ClientKey(limits.DefaultPrefix, c.id)
		time.Sleep(3 * time.Hour)
		d.announced(c)
		if left := d.raw[0].PTTL(background, key).Val(); left < 3*time.Hour-time.Minute || left > 4*time.Hour {
			t.Errorf("known for %v more", left)
		}
		for _, r := range d.raw[:2] {
			must(t, r.Del(background, key).Err())
		}
		time.Sleep(time.Hour + time.Minute)
		d.announced(c)
		if who, ok := identity.Read(d.raw[0].Get(background, key).Val()); !ok || who.Name != "one" || who.PID != os.Getpid() {
			t.Errorf("it is %+v", who)
		}
		must(t, lock.Unlock(background))
	})
}

// A name that is given while masters are told of the client without one stands.
func TestTheLastNameStands(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		for range 20 {
			c := d.client()
			must(t, mustTry(t, c, "job").Unlock(background)) // has the masters told
			must(t, c.SetName("one"))
			must(t, c.SetName("two"))
			time.Sleep(time.Second) // in the background
			for i, r := range d.raw {
				if is := r.Get(background, script.ClientKey(limits.DefaultPrefix, c.id)).Val(); !strings.Contains(is, `"two"`) {
					t.Errorf("master %d has %s", i, is)
				}
			}
			must(t, c.Close())
		}
	})
}

// Clients that come and go leave nothing for long, and one that cannot be announced locks all the same.
func TestAnnouncingCostsLittle(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		must(t, mustTry(t, c, "job").Unlock(background))
		d.announced(c)
		must(t, c.Close())
		time.Sleep(announceLife*minAnnounce + time.Second)
		if n := d.knowing(c); n != 0 {
			t.Errorf("%d masters know a client that closed %v ago", n, announceLife*minAnnounce)
		}
	})
	d := processes(t, 3, redisproc.Config{AppendFsync: "always"})
	d.reached()
	for _, r := range d.raw {
		must(t, r.Do(background, "acl", "setuser", "default", "resetkeys", "~redlock:{*", "~redlock:member").Err())
	}
	c := d.client(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job")
	must(t, lock.Extend(background, limits.DefaultTTL))
	settled(t, c)
	if n := d.knowing(c); n != 0 {
		t.Errorf("%d masters know a client that may not tell them", n)
	}
	must(t, lock.Unlock(background))
}

func TestTheNameOfAProgramIsShort(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithName(strings.Repeat("x", maxProgramName+1)))
	requireErr(t, err, ErrBadOption)
	if !strings.Contains(err.Error(), "client's name of 257 bytes") {
		t.Error(err)
	}
}
