package redlocktest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/embedded"
)

// Deployment is a deployment whose masters run in this process. Its methods may be called from
// several goroutines. A method that can fail the test may only be called where t.Fatal may be
// called.
type Deployment struct {
	t     testing.TB
	epoch time.Time
	settings
	masters []*master
	virtual bool

	mu      sync.Mutex // not held while a server is called
	clients []*redlock.Client
}

// New starts masters and founds a deployment of them. The masters stop at the end of the test.
func New(t testing.TB, opts ...Option) *Deployment {
	t.Helper()
	d := &Deployment{t: t, epoch: time.Now(), settings: defaultSettings(), virtual: inBubble(t)}
	for i, o := range opts {
		if o == nil {
			t.Fatalf("redlocktest: options[%d] is nil", i)
		}
		o(&d.settings)
	}
	if d.settings.masters < 1 || d.settings.masters > 31 {
		t.Fatalf("redlocktest: Masters(%d): there must be 1 to 31", d.settings.masters)
	}
	for range d.settings.masters {
		d.start()
	}
	founder := d.Client()
	err := admin.Init(context.Background(), founder, 0)
	d.eventually("all masters vote", func() bool { return err != nil || d.allVote() })
	if err = errors.Join(err, founder.Close()); err != nil {
		t.Fatalf("redlocktest: the deployment cannot be founded: %v", err)
	}
	return d
}

// allVote reports whether all masters have recorded that they are members.
func (d *Deployment) allVote() bool {
	d.t.Helper()
	votes := 0
	for i := range d.masters {
		d.ask(i, func(ctx context.Context, r *redis.Client) error {
			_, err := direct.Header(ctx, r, d.prefix)
			if err == nil {
				votes++
			}
			return err
		})
	}
	return votes == len(d.masters)
}

// eventually polls until state returns true, and fails the test after a while.
func (d *Deployment) eventually(what string, state func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !state(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("redlocktest: not within %v: %s", patience, what)
		}
	}
}

// patience is the longest wait for a state, or for a master's answer.
const patience = 10 * time.Second

// start starts one more master. Outside a bubble, the master listens on the loopback interface.
func (d *Deployment) start() {
	d.t.Helper()
	if d.virtual {
		d.masters = append(d.masters, &master{Server: embedded.New()})
	} else {
		s, err := embedded.NewListening("127.0.0.1:0")
		if err != nil {
			d.t.Fatalf("redlocktest: a master cannot listen: %v", err)
		}
		d.masters = append(d.masters, &master{Server: s})
	}
	d.t.Cleanup(d.masters[len(d.masters)-1].Close)
}

// inBubble reports whether t belongs to a testing/synctest bubble. In a bubble, t.Deadline panics.
func inBubble(t testing.TB) (is bool) {
	has, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return false
	}
	defer func() { is = recover() != nil }()
	has.Deadline()
	return false
}

// Client opens a client with these options, for all masters. The client is closed at the end of the
// test, if the test has not closed it before.
func (d *Deployment) Client(opts ...redlock.Option) *redlock.Client {
	d.t.Helper()
	if time.Now().Round(0).Before(d.epoch.Round(0).Add(-time.Minute)) {
		d.t.Fatal("redlocktest: Client is called in a bubble, and New was not: call New in the bubble, with its t")
	}
	var masters []redis.UniversalClient
	for _, m := range d.masters {
		one := redis.NewClient(m.Options())
		d.t.Cleanup(func() { _ = one.Close() })
		masters = append(masters, one)
	}
	now := func() clock.Instant { return clock.Instant(time.Since(d.epoch)) }
	own := []redlock.Option{redlock.Inside(core.Key{}).Clock(now), redlock.WithPrefix(d.prefix), redlock.WithMaxTTL(d.maxTTL)}
	client, err := redlock.New(masters, append(own, opts...)...)
	if err != nil {
		d.t.Fatalf("redlocktest: Client: %v", err)
	}
	d.t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redlock.ErrClosed) {
			d.t.Errorf("redlocktest: closing a client: %v", err)
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = append(d.clients, client)
	return client
}

// URLs returns the URLs of the masters, for a program that opens its own client with redlock.Open.
// A deployment in a synctest bubble has no sockets, so URLs fails the test there.
func (d *Deployment) URLs() []string {
	d.t.Helper()
	if d.virtual {
		d.t.Fatal("redlocktest: URLs: there are no sockets in a bubble: give the program a client that Client made")
	}
	var urls []string
	for _, m := range d.masters {
		urls = append(urls, "redis://"+m.Addr())
	}
	return urls
}
