package growth

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// clients are all in this process, and each holds a name and extends it, by which it learns of a
// version, and finds that a master is there again. The masters write to disk before they answer, so
// that a restart forgets nothing: a lock that is lost is an error.
func clients(t testing.TB, n int, _ time.Duration) map[string]float64 {
	const extended = 3 * time.Second
	d := deploy(t, redisproc.Config{AppendFsync: "always"})
	operator := d.open()
	must(t, operator.Ready(context.Background()))
	without := d.mean("clients", "connected_clients")
	var f fleet
	f.members = make([]member, n)
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	// Not all connect at once, as in a rolling start.
	atOnce(t, n, func(i int) error {
		lock, err := f.open(d, i).Lock(ctx, fmt.Sprintf("own-%d", i), redlock.WithWait(patience))
		if err != nil {
			return err
		}
		go func() {
			for again := time.NewTicker(extended); ctx.Err() == nil; {
				select {
				case <-again.C:
					_ = lock.Extend(ctx, limits.DefaultTTL) // the end of the hold tells what matters
				case <-lock.Context().Done():
					f.lost.Add(1)
					return
				case <-ctx.Done():
				}
			}
		}()
		return nil
	})
	connections := d.mean("clients", "connected_clients") - without
	learned := f.learn(t, operator)
	dials := f.dials.Load()
	restart := f.restart(t, d)
	if lost := f.lost.Load(); lost > 0 {
		t.Fatalf("%d locks were lost", lost)
	}
	return map[string]float64{
		"connections/client": connections / float64(n), "learned-ms": millis(learned, 1), "back-ms": millis(restart, usualMasters),
		"dials/restart/client": float64(f.dials.Load()-dials) / usualMasters / float64(n),
	}
}

// fleet is the clients.
type fleet struct {
	members     []member
	dials, lost atomic.Int64
}

// member is what is seen of one client.
type member struct {
	version atomic.Int64               // that it has learned
	reached [usualMasters]atomic.Int64 // dials that came through, by master
}

func (f *fleet) open(d *deployment, i int) *redlock.Client {
	var masters []redis.UniversalClient
	for m, r := range d.direct {
		o := *r.Options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			f.dials.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				f.members[i].reached[m].Add(1)
			}
			return conn, err
		}
		c := redis.NewClient(&o)
		d.Cleanup(func() { _ = c.Close() })
		masters = append(masters, c)
	}
	c, err := redlock.New(masters, redlock.WithRequestTimeout(2*time.Second), redlock.WithObserver(redlock.Observer{
		VersionLearned: func(t redlock.TableVersion) { f.members[i].version.Store(int64(t.Version)) },
	}))
	must(d, err)
	d.Cleanup(func() { _ = c.Close() })
	return c
}

// all reports whether something is so for each of the clients.
func (f *fleet) all(is func(m *member) bool) bool {
	for i := range f.members {
		if !is(&f.members[i]) {
			return false
		}
	}
	return true
}

// learn changes the members, and returns how long it took until all clients knew.
func (f *fleet) learn(t testing.TB, operator *redlock.Client) time.Duration {
	t.Helper()
	ctx := context.Background()
	members, err := admin.Members(ctx, operator)
	must(t, err)
	begun := time.Now()
	address := members.Members[0].Address
	must(t, admin.ChangeMembers(ctx, operator, admin.SuspendMember(address), nil))
	knows := func(m *member) bool { return m.version.Load() > int64(members.Version) }
	until(t, "all clients know the members", func() bool { return f.all(knows) })
	took := time.Since(begun)
	must(t, admin.ChangeMembers(ctx, operator, admin.ResumeMember(address), nil))
	knows = func(m *member) bool { return m.version.Load() > int64(members.Version)+1 }
	until(t, "all clients know the members", func() bool { return f.all(knows) })
	return took
}

// restart restarts one master after the other, each when all clients have the one before, and
// returns how long that took.
func (f *fleet) restart(t testing.TB, d *deployment) time.Duration {
	t.Helper()
	begun := time.Now()
	for i, s := range d.Redis {
		had := make(map[*member]int64)
		f.all(func(m *member) bool { had[m] = m.reached[i].Load(); return true })
		s.Kill()
		must(t, s.Restart())
		again := func(m *member) bool { return m.reached[i].Load() > had[m] }
		until(t, "all clients have the master again", func() bool { return f.all(again) })
	}
	return time.Since(begun)
}
