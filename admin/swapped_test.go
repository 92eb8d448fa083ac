package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// moving connects a client to servers. The first server's address leads to the server whose index is in the field to.
type moving struct {
	to   atomic.Int32
	open [4]atomic.Int32 // connections, by server
}

type movingConn struct {
	net.Conn
	once sync.Once
	open *atomic.Int32
}

func (c *movingConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

func (m *moving) client(t *testing.T, d *harness.Deployment, masters int) *redlock.Client {
	var servers []*redis.Client
	for i := range masters {
		o := d.Masters[i].Options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			server := i
			if i == 0 {
				server = int(m.to.Load())
			}
			at := d.Masters[server].Options()
			dial := at.Dialer
			if dial == nil {
				dial = redis.NewDialer(at)
			}
			c, err := dial(ctx, network, at.Addr)
			if err != nil {
				return nil, err
			}
			m.open[server].Add(1)
			return &movingConn{Conn: c, open: &m.open[server]}, nil
		}
		servers = append(servers, redis.NewClient(o))
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	return harness.ClientOn(t, servers, d.InTime(harness.RecoveryOptions()...)...)
}

// If a server may no longer be used, all connections to it are closed, and its address is dialled again.
func TestFormerMasterIsDisconnected(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, d *harness.Deployment)
	leaves := func(change change) func(t *testing.T, d *harness.Deployment) {
		return func(t *testing.T, d *harness.Deployment) {
			m := new(moving)
			c := m.client(t, d, 3)
			harness.Must(t, admin.Init(context.Background(), c, 0))
			rival := harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...)
			harness.MustLock(t, rival, "held")
			waiter := harness.GoLock(t, c, "held")
			harness.Eventually(t, "the first server can call", func() bool {
				n, err := d.Raw[0].PubSubNumSub(context.Background(), harness.Channel(c)).Result()
				return err == nil && n[harness.Channel(c)] == 1
			})
			harness.Must(t, rival.Close()) // otherwise rival would bring the first server back
			harness.Must(t, harness.Have(t, waiter).Unlock(context.Background()))
			read := harness.MustTryRead(t, c, "read")
			writer := harness.GoLock(t, c, "read") // so that the client has its subscriptions
			d.InLine("read", 1)
			time.Sleep(master.MaxOut) // a younger connection shows where the address leads now
			m.to.Store(3)
			change(t, d)
			harness.Eventually(t, "it votes at the other server, and nothing leads to the first", func() bool {
				if lock, err := c.TryLock(context.Background(), "other"); err == nil {
					_ = lock.Unlock(context.Background())
				}
				return m.open[0].Load() == 0 && m.open[3].Load() > 0 && harness.Inside(c).Members.View().Out[0] == nil
			})
			harness.Must(t, read.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, writer).Unlock(context.Background()))
		}
	}
	for name, change := range map[string]change{
		"emptied": func(_ *testing.T, d *harness.Deployment) { d.Masters[0].(harness.EmbeddedMaster).FlushAll() },
		"another deployment": func(t *testing.T, d *harness.Deployment) {
			d.Masters[0].(harness.EmbeddedMaster).FlushAll()
			harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[:1], d.InTime()...), 0))
		},
	} {
		harness.RunInVirtualTime(t, name, 4, leaves(change))
	}
	t.Run("demoted", func(t *testing.T) {
		t.Parallel()
		leaves(func(t *testing.T, d *harness.Deployment) {
			harness.Must(t, d.Raw[0].Do(context.Background(), "replicaof", "127.0.0.1", d.Server(3).Port()).Err())
		})(t, harness.Processes(t, 4, redisproc.Config{}))
	})
}

// For a while a member's name led to a blank server, which was to replace the member. Connections to that server are
// closed too.
func TestReplacementServerIsDisconnected(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		m := new(moving)
		m.to.Store(3)
		c := m.client(t, d, 2)
		_, err := c.TryLock(context.Background(), "job")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("with one of three members: %v", err)
		}
		harness.Eventually(t, "it is given an id", func() bool {
			return d.Register(3)["id"] != ""
		})
		m.to.Store(0)
		lock := harness.MustLock(t, c, "job", redlock.WithWait(10*time.Second))
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// Frequent calls of Members do not delay the replacement of a demoted member: each report leads to a decision.
func TestMembersCallsDoNotDelayReplacement(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		m := new(moving)
		c := m.client(t, d, 3)
		harness.MustTry(t, c, "held")
		m.to.Store(3)
		d.Masters[0].(harness.EmbeddedMaster).Follow(d.Masters[1].(harness.EmbeddedMaster).Server)
		began := time.Now()
		for i := 0; time.Since(began) < 15*time.Second; i++ {
			_, _ = c.TryLock(context.Background(), fmt.Sprint("x", i))
			is, err := admin.Members(context.Background(), c)
			harness.Must(t, err)
			if is.Version > 2 && allVote(c, 3) && is.Members[0].ID == d.Register(3)["id"] {
				t.Logf("it votes after %v", time.Since(began))
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("after %v it does not vote: %+v", time.Since(began), harness.Members(t, c))
	})
}

// A client whose names lead to blank servers removes no member: a client may replace a member whose name leads
// elsewhere only if more than a quorum of the other members answers.
func TestWrongNamesRemoveNoMember(t *testing.T) {
	harness.InVirtualTime(t, 7, func(t *testing.T, d *harness.Deployment) {
		all := d.Masters
		d.Masters = all[:5]
		c := d.Reached()
		lead := func(first, second harness.Master) (masters []harness.Master) {
			return append([]harness.Master{harness.Named{Master: first, Address: "alias-0"}, harness.Named{Master: second, Address: "alias-1"}}, all[2:5]...)
		}
		d.Masters = lead(all[0], all[1])
		known := d.Reached()
		harness.Eventually(t, "the masters know the names", func() bool {
			lockOnce(t, known)
			return len(knownAs(t, c, d.Address(0))) > 0 && len(knownAs(t, c, d.Address(1))) > 0
		})
		d.Masters = lead(all[5], all[6])
		wrong := d.Stranger()
		d.Masters = all[:5]
		harness.Must(t, wrong.Ready(context.Background()))
		for range 50 {
			lockOnce(t, wrong)
			lockOnce(t, c)
		}
		if !allVote(c, 5) {
			t.Errorf("members were put out: %v", harness.Inside(c).Members.View().Out)
		}
	})
}
