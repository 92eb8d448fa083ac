package redlocktest

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

// on returns a go-redis client of one master.
func (d *Deployment) on(i int) *redis.Client {
	r := redis.NewClient(d.masters[i].Options())
	d.t.Cleanup(func() { _ = r.Close() })
	return r
}

// A rival's token is above the counters of all masters, with room for grants at the same moment.
func TestRivalTokenIsAboveCounters(t *testing.T) {
	t.Parallel()
	for highest := range 3 {
		synctest.Test(t, func(t *testing.T) {
			d := New(t, Masters(3))
			keys := script.KeysOf(d.prefix, "job", "")
			var most fence.Token
			for i := range d.masters {
				step := int64(10 * tokensBetween)
				if i == highest {
					step *= 2
				}
				n, err := d.on(i).IncrBy(t.Context(), keys.Fence, step).Result()
				harness.Must(t, err)
				most = max(most, fence.Token(n))
			}
			rival := d.Steal("job")
			defer rival.Unlock()
			if rival.Token() != most+tokensBetween {
				t.Errorf("master %d has the highest counter: the token is %v, and the counter %v", highest, rival.Token(), most)
			}
		})
	}
}

// Methods wait for earlier requests of clients: no method takes effect before all masters have answered an earlier
// Lock.
func TestMethodsWaitForRequests(t *testing.T) {
	t.Parallel()
	for verb, do := range map[string]func(*Deployment){
		"Expire":    func(d *Deployment) { d.Expire("job") },
		"Steal":     func(d *Deployment) { d.Steal("job") },
		"Kill":      func(d *Deployment) { d.Kill(0) },
		"Freeze":    func(d *Deployment) { d.Freeze(0) },
		"Wipe":      func(d *Deployment) { d.Wipe(0) },
		"JumpClock": func(d *Deployment) { d.JumpClock(0, time.Hour) },
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := New(t, Masters(3))
				c, away := d.clientWithAWay(2)
				first, err := c.TryLock(t.Context(), "job")
				harness.Must(t, err)
				harness.Must(t, first.Unlock(t.Context()))
				d.settle()
				away <- struct{}{}
				lock, err := c.TryLock(t.Context(), "job")
				harness.Must(t, err)
				done := make(chan struct{})
				go func() {
					defer close(done)
					do(d)
				}()
				synctest.Wait()
				held, err := d.on(0).Get(t.Context(), script.KeysOf(d.prefix, "job", "").Lock).Result()
				if err != nil || !strings.Contains(held, " "+lock.Token().String()) {
					t.Errorf("it did not wait for what is on its way to master 2: master 0 has %q, %v", held, err)
				}
				<-away
				<-done
				d.Thaw(0) // otherwise closing the client takes long
			})
		})
	}
}

// clientWithAWay returns a registered client. While the returned channel has an element, no bytes of the client
// reach the master with the index to.
func (d *Deployment) clientWithAWay(to int) (c *redlock.Client, away chan struct{}) {
	away = make(chan struct{}, 1)
	var masters []redis.UniversalClient
	for i, m := range d.masters {
		o := m.Options()
		if dial := o.Dialer; i == to {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return wayConn{conn, away}, err
			}
		}
		one := redis.NewClient(o)
		d.t.Cleanup(func() { _ = one.Close() })
		masters = append(masters, one)
	}
	now := func() clock.Instant { return clock.Instant(time.Since(d.epoch)) }
	c, err := redlock.New(masters, redlock.Inside(core.Key{}).Clock(now))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = append(d.clients, c)
	return c, away
}

type wayConn struct {
	net.Conn
	away chan struct{}
}

func (c wayConn) Write(p []byte) (int, error) {
	c.away <- struct{}{}
	defer func() { <-c.away }()
	return c.Conn.Write(p)
}
