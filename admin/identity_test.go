package admin_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// allKnow waits until all masters have the identity of c.
func allKnow(d *harness.Deployment, c *redlock.Client) {
	d.T.Helper()
	harness.Eventually(d.T, "all masters know the client", func() bool { return d.Knowing(c) == len(d.Raw) })
}

// A master that lost the identity of a client gets the identity again within an hour.
func TestLostIdentityIsAnnouncedAgain(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client(redlock.WithName("one"))
		lock := harness.MustTry(t, c, "job")
		allKnow(d, c)
		key := script.ClientKey(limits.DefaultPrefix, harness.ID(c))
		time.Sleep(time.Hour + time.Minute)
		allKnow(d, c)
		for _, r := range d.Raw[:2] {
			harness.Must(t, r.Del(context.Background(), key).Err())
		}
		time.Sleep(time.Hour + time.Minute)
		allKnow(d, c)
		if who, ok := identity.Read(d.Raw[0].Get(context.Background(), key).Val()); !ok || who.Name != "one" || who.PID != os.Getpid() {
			t.Errorf("it is %+v", who)
		}
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// The last name wins, even if it is set while the client still sends an earlier name to the masters.
func TestLastSetNameWins(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		for range 5 {
			c := d.Client()
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background())) // makes the client send its identity to the masters
			harness.Must(t, c.SetName("one"))
			harness.Must(t, c.SetName("two"))
			time.Sleep(time.Second) // the identity is sent in the background
			for i, r := range d.Raw {
				if is := r.Get(context.Background(), script.ClientKey(limits.DefaultPrefix, harness.ID(c))).Val(); !strings.Contains(is, `"two"`) {
					t.Errorf("master %d has %s", i, is)
				}
			}
			harness.Must(t, c.Close())
		}
	})
}

// The identity of a closed client expires soon.
func TestIdentityOfClosedClientExpires(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const life = 4 * time.Minute // how long masters keep the identity after the first announcement
		c := d.Client()
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		allKnow(d, c)
		harness.Must(t, c.Close())
		time.Sleep(life + time.Second)
		if n := d.Knowing(c); n != 0 {
			t.Errorf("%d masters know a client that closed %v ago", n, life)
		}
	})
}
