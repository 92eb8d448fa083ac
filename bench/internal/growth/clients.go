package growth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// clients are all in this process, and each holds a name. Their masters write to disk before they
// answer, so that a restart forgets nothing.
func clients() Row {
	return Row{
		Name: "clients", Title: "clients, each with a name of its own, on 5 masters", Of: "clients",
		Figures: []Figure{
			{"connections", "on a master, a client"}, {"subscriptions", "on a master, a client"},
			{"a version is learned", "ms, by the last client"}, {"back on a master", "ms, by the last client"},
			{"dials", "in a restart, a client"}, {"dials", "a second, a client"}, {"all have locked", "ms a client"}, {"locks lost", "a client"},
		},
		ns: []int{1, 10, 100, 1000}, usual: 100, measure: measureClients,
	}
}

// extended is how often each client extends its lock. Who holds and does nothing else learns of a
// version by that, and finds that a master is there again.
const extended = 3 * time.Second

func measureClients(n int, _ Settings) (values []float64, err error) {
	d, err := deploy(server.RedisConfig{Masters: usualMasters, AppendFsync: "always"})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	f, err := assemble(d, n)
	if f != nil {
		defer func() { err = errors.Join(err, f.close()) }()
	}
	if err != nil {
		return nil, err
	}
	connections, subscriptions, err := f.wait()
	if err != nil {
		return nil, err
	}
	learned, err := f.learn()
	if err != nil {
		return nil, err
	}
	dials, perSecond, restart, err := f.restart()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	err = f.lockAll("after", n)
	return []float64{
		connections, subscriptions, millis(learned), millis(restart), dials, perSecond, millis(time.Since(begun)) / float64(n), float64(f.lost.Load()) / float64(n),
	}, err
}

// fleet is the clients.
type fleet struct {
	d           *deployment
	operator    *redlock.Client // who holds what they all wait for, and changes the members
	connections float64         // on a master, without the fleet's
	clients     []*redlock.Client
	direct      []redis.UniversalClient // of all clients
	lost        atomic.Int64
	closed      context.Context // ends when the fleet closes
	end         context.CancelFunc
	holding     sync.WaitGroup

	mu      sync.Mutex
	version []int            // that each client has learned
	dials   []map[string]int // by client and address, those that came through
	refused int              // dials
}

// taken is the name that all wait for.
const taken = "taken"

// assemble opens n clients, and has each lock a name. The caller must close the fleet, if there
// is one, also after an error.
func assemble(d *deployment, n int) (*fleet, error) {
	operator, err := redlock.Open(d.Addrs)
	if err != nil {
		return nil, err
	}
	f := &fleet{d: d, operator: operator, version: make([]int, n), dials: make([]map[string]int, n)}
	f.closed, f.end = context.WithCancel(context.Background())
	if _, err := operator.Lock(context.Background(), taken, redlock.WithWait(patience)); err != nil {
		return f, err
	}
	if f.connections, err = d.mean("clients", "connected_clients"); err != nil {
		return f, err
	}
	for i := range n {
		f.dials[i] = map[string]int{}
		var masters []redis.UniversalClient
		for _, r := range d.direct {
			o := *r.Options()
			o.Dialer = f.dialer(i)
			masters = append(masters, redis.NewClient(&o))
		}
		f.direct = append(f.direct, masters...)
		c, err := redlock.New(masters, redlock.WithRequestTimeout(2*time.Second), redlock.WithObserver(f.observer(i)))
		if err != nil {
			return f, err
		}
		f.clients = append(f.clients, c)
	}
	// Not all connect at once, as in a rolling start.
	return f, atOnce(takers, n, f.hold)
}

func (f *fleet) close() error {
	f.end()
	f.holding.Wait()
	errs := []error{f.operator.Close(), atOnce(takers, len(f.clients), func(i int) error { return f.clients[i].Close() })}
	for _, r := range f.direct {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// dialer counts what client i dials.
func (f *fleet) dialer(i int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, addr)
		f.mu.Lock()
		defer f.mu.Unlock()
		if err != nil {
			f.refused++
		} else {
			f.dials[i][addr]++
		}
		return conn, err
	}
}

// dialed is how often masters were dialed, and how often each client reached that of the address.
func (f *fleet) dialed(address string) (total int, reached []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	total = f.refused
	for _, masters := range f.dials {
		reached = append(reached, masters[address])
		for _, n := range masters {
			total += n
		}
	}
	return total, reached
}

func (f *fleet) observer(i int) redlock.Observer {
	return redlock.Observer{
		VersionLearned: func(t redlock.TableVersion) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.version[i] = t.Version
		},
	}
}

// all reports whether something is so for each of the clients.
func (f *fleet) all(is func(i int) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.clients {
		if !is(i) {
			return false
		}
	}
	return true
}

// hold has a client take its name, and again when it lost it.
func (f *fleet) hold(i int) error {
	name := fmt.Sprintf("own-%d", i)
	lock, err := f.clients[i].Lock(f.closed, name, redlock.WithWait(patience))
	if err != nil {
		return err
	}
	f.holding.Go(func() {
		again := time.NewTicker(extended)
		defer again.Stop()
		for err == nil {
			select {
			case <-again.C:
				_ = lock.Extend(f.closed, limits.DefaultTTL) // the end of the hold tells what matters
			case <-lock.Context().Done():
				if f.closed.Err() != nil {
					return // the client gives it back when it closes
				}
				f.lost.Add(1)
				lock, err = f.clients[i].Lock(f.closed, name)
			}
		}
	})
	return nil
}

// lockAll has each client lock a name, so many at a time.
func (f *fleet) lockAll(prefix string, atATime int) error {
	return atOnce(atATime, len(f.clients), func(i int) error {
		_, err := f.clients[i].Lock(context.Background(), fmt.Sprintf("%s-%d", prefix, i), redlock.WithWait(patience))
		return err
	})
}

// wait has all clients wait for one name, and counts what that takes on a master.
func (f *fleet) wait() (connections, subscriptions float64, err error) {
	ctx, leave := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer leave()
	queue := script.KeysOf(limits.DefaultPrefix, taken, "").Queue
	for at := 0; at < len(f.clients); at += takers {
		now := min(at+takers, len(f.clients))
		for _, c := range f.clients[at:now] {
			waiting.Go(func() { _, _ = c.Lock(ctx, taken) })
		}
		if err := until("all wait and are subscribed", func() (bool, error) {
			least, err := f.d.least(func(r *redis.Client) (int64, error) { return r.ZCard(ctx, queue).Result() })
			if err != nil {
				return false, err
			}
			subscriptions, err = f.d.each(func(r *redis.Client) (float64, error) {
				channels, err := r.PubSubChannels(ctx, limits.DefaultPrefix+":waits:*").Result()
				return float64(len(channels)), err
			})
			return least >= int64(now) && subscriptions >= float64(now), err
		}); err != nil {
			return 0, 0, err
		}
	}
	n := float64(len(f.clients))
	connections, err = f.d.mean("clients", "connected_clients")
	return (connections - f.connections) / n, subscriptions / n, err
}

// learn changes the members twice, and returns how long it took until all clients knew the first
// change.
func (f *fleet) learn() (took time.Duration, err error) {
	ctx := context.Background()
	members, err := admin.Members(ctx, f.operator)
	if err != nil {
		return 0, err
	}
	address := members.Members[0].Address
	for i, change := range []admin.MemberChange{admin.SuspendMember(address), admin.ResumeMember(address)} {
		begun := time.Now()
		if err := admin.ChangeMembers(ctx, f.operator, change, nil); err != nil {
			return 0, err
		}
		changed, err := admin.Members(ctx, f.operator)
		if err != nil {
			return 0, err
		}
		if err := until("all clients know the members", func() (bool, error) {
			return f.all(func(i int) bool { return f.version[i] >= changed.Version }), nil
		}); err != nil {
			return 0, err
		}
		if i == 0 {
			took = time.Since(begun)
		}
	}
	return took, nil
}

// restart restarts one master after the other, each when all clients have the one before.
func (f *fleet) restart() (dials, perSecond float64, took time.Duration, err error) {
	n, masters := float64(len(f.clients)), len(f.d.direct)
	before, _ := f.dialed("")
	for i := range masters {
		address := f.d.direct[i].Options().Addr
		_, had := f.dialed(address)
		begun := time.Now()
		if err := f.d.Restart(i); err != nil {
			return 0, 0, 0, err
		}
		if err := until("all clients have the master again", func() (bool, error) {
			_, has := f.dialed(address)
			return reconnected(had, has), nil
		}); err != nil {
			return 0, 0, 0, err
		}
		took += time.Since(begun)
	}
	after, _ := f.dialed("")
	total := float64(after - before)
	return total / n / float64(masters), total / n / took.Seconds(), took / time.Duration(masters), nil
}

// reconnected reports whether each client has dialed since.
func reconnected(before, now []int) bool {
	for i := range now {
		if now[i] <= before[i] {
			return false
		}
	}
	return true
}

// least is the smallest of what all masters tell.
func (d *deployment) least(of func(*redis.Client) (int64, error)) (int64, error) {
	least := int64(-1)
	for _, r := range d.direct {
		n, err := of(r)
		if err != nil {
			return 0, err
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return least, nil
}
