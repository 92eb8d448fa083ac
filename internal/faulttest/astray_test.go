package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// astray is a master whose address leads to another server, as after a change of DNS or of a
// virtual IP: new connections while on is set; or, if it spreads, each batch of the connections
// that exist, as through a proxy.
type astray struct {
	harness.Master
	other   harness.Master
	on      *atomic.Bool
	spreads bool
}

func (m astray) Options() *redis.Options {
	o := m.Master.Options()
	here, there := o.Dialer, m.other.Options().Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !m.spreads {
			if m.on.Load() {
				return there(ctx, network, addr)
			}
			return here(ctx, network, addr)
		}
		conn, err := here(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		other, err := there(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &spreadConn{Conn: conn, here: conn, there: other, on: m.on}, nil
	}
	return o
}

// spreadConn sends batches to another server while on is set.
type spreadConn struct {
	net.Conn // the last command went there
	here     net.Conn
	there    net.Conn
	on       *atomic.Bool
}

func (c *spreadConn) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("*")) {
		c.Conn = c.here
		if c.on.Load() && bytes.Contains(p, []byte(script.BatchSHA)) {
			c.Conn = c.there
		}
	}
	return c.Conn.Write(p)
}

func (c *spreadConn) Close() error {
	_ = c.there.Close()
	return c.here.Close()
}

// Wherever an address leads, a server has one vote: what it grants is counted for the member that
// it is, not for the connection by which the grant came. Without that there were two holders, and a
// lower token after a higher one.
func TestOneServerHasOneVote(t *testing.T) {
	t.Parallel()
	for how, x := range map[string]struct{ spreads, waits bool }{
		"the subscriptions lead elsewhere": {waits: true},
		"a proxy spreads the batches":      {spreads: true},
	} {
		t.Run(how, func(t *testing.T) {
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				a := d.Reached(redlock.WithTTL(10 * time.Second))
				var on atomic.Bool
				whole := d.Masters
				d.Masters = append([]harness.Master{astray{whole[0], whole[1], &on, x.spreads}}, whole[1:]...)
				b := d.Reached(redlock.WithTTL(10 * time.Second))
				d.Masters = whole
				for n := range 8 { // whose requests come first is left to chance
					time.Sleep(10 * time.Second) // the subscriptions of before have ended
					oneServerOneVote(t, d, a, b, fmt.Sprint("job-", n), &on, x.waits)
				}
			})
		})
	}
}

// oneServerOneVote has a hold a name on masters 0 and 2, and b ask for it while the address of
// master 0 leads it to master 1.
func oneServerOneVote(t *testing.T, d *harness.Deployment, a, b *redlock.Client, name string, on *atomic.Bool, waits bool) {
	t.Helper()
	// Master 1 belongs to nobody, but is taken while a locks: so its counter is behind.
	other := &lease.Owner{ID: "other", Keys: script.KeysOf(limits.DefaultPrefix, name, "other")}
	_, err := harness.CallIn(script.BatchSource, d.Raw[1], other.AcquireCall(quorum.TermsOf(time.Minute, 0, 0), lease.Place{}))
	harness.Must(t, err)
	for range 5 {
		harness.Must(t, harness.MustTry(t, a, name).Unlock(context.Background()))
	}
	held := harness.MustTry(t, a, name)

	free := func() {
		_, err := harness.CallIn(script.BatchSource, d.Raw[1], other.ReleaseCall())
		harness.Must(t, err)
	}
	on.Store(true)
	if !waits {
		free()
	}
	got := harness.GoLock(t, b, name)
	if waits {
		time.Sleep(100 * time.Millisecond) // it stands in the queues, with an offer
		on.Store(false)
		free()
	}
	time.Sleep(5 * time.Second)
	select {
	case lock := <-got:
		t.Fatalf("token %d beside the holder of token %d, which is valid: %t", lock.Token(), held.Token(), held.Valid())
	default:
	}
	on.Store(false)
	token := held.Token()
	harness.Must(t, held.Unlock(context.Background()))
	lock := harness.Have(t, got)
	if lock.Token() <= token {
		t.Errorf("token %d after %d", lock.Token(), token)
	}
	harness.Must(t, lock.Unlock(context.Background()))
}
