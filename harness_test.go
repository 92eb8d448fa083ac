package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/direct"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// testMaster is a master that a test can hurt: embedded in virtual time, or a
// redis-server process.
type testMaster interface {
	die()    // crash; the data is kept
	revive() // start again after die
	freeze() // stop answering, as SIGSTOP does
	thaw()
	options() *redis.Options // for a client with our settings
}

// deployment is some masters and the clock that their clients read.
type deployment struct {
	t       *testing.T
	masters []testMaster
	raw     []*redis.Client // for looking at the masters past the library
	virtual bool
	founded bool         // or not to be: the first client founds it
	slept   atomic.Int64 // what a suspension added to the clock, in virtual time
	epoch   time.Time
}

type embeddedMaster struct {
	*embedded.Server
	t *testing.T
}

func (m embeddedMaster) die()                    { m.Kill(false) }
func (m embeddedMaster) revive()                 { must(m.t, m.Restart()) }
func (m embeddedMaster) freeze()                 { m.Pause() }
func (m embeddedMaster) thaw()                   { m.Resume() }
func (m embeddedMaster) options() *redis.Options { return m.Options() }

// busyRequest is the request timeout of clients of redis-server processes, unless a test sets another: on a busy machine
// an answer takes longer than the default.
const busyRequest = 900 * time.Millisecond

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inVirtualTime runs test in a bubble, on n embedded masters.
func inVirtualTime(t *testing.T, n int, test func(t *testing.T, d *deployment)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &deployment{t: t, virtual: true, epoch: time.Now()}
		for range n {
			s := embedded.New()
			t.Cleanup(s.Close)
			d.add(embeddedMaster{s, t})
		}
		test(t, d)
	})
}

func (d *deployment) address(i int) string { return d.raw[i].Options().Addr }

func (d *deployment) add(m testMaster) {
	raw := redis.NewClient(m.options())
	d.t.Cleanup(func() { _ = raw.Close() })
	d.masters = append(d.masters, m)
	d.raw = append(d.raw, raw)
}

// either chooses between what is exact in virtual time and what a busy
// machine can keep to.
func (d *deployment) either(virtual, real time.Duration) time.Duration {
	if d.virtual {
		return virtual
	}
	return real
}

// now is the clock of this deployment's clients.
func (d *deployment) now() clock.Instant {
	if !d.virtual {
		return clock.Read()
	}
	return clock.Instant(time.Since(d.epoch) + time.Duration(d.slept.Load()))
}

// client returns a Client on all masters, closed at the end of the test. The first one
// founds the deployment.
func (d *deployment) client(opts ...Option) *Client {
	d.t.Helper()
	c := d.stranger(opts...)
	if !d.founded {
		d.founded = true
		must(d.t, c.found(background, 0))
	}
	return c
}

// stranger is client, but founds nothing.
func (d *deployment) stranger(opts ...Option) *Client {
	d.t.Helper()
	clients := make([]redis.UniversalClient, len(d.masters))
	for i, m := range d.masters {
		one := redis.NewClient(m.options())
		d.t.Cleanup(func() { _ = one.Close() })
		clients[i] = one
	}
	clock := clientOption(func(c *config) { c.now = d.now })
	request := WithRequestTimeout(d.either(limits.DefaultRequestTimeout, busyRequest))
	c, err := New(clients, append([]Option{clock, request}, opts...)...)
	must(d.t, err)
	d.t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, ErrClosed) {
			d.t.Error(err)
		}
	})
	return c
}

// reached returns a client, of a deployment that has been used before, that has
// reached all masters, and to which all have answered.
func (d *deployment) reached(opts ...Option) *Client {
	d.t.Helper()
	c := d.client(opts...)
	eventually(d.t, "all masters are up, and have answered", func() bool {
		up := allUp(c)
		lock, err := c.Lock(background, "reaching", WithWait(20*time.Second))
		must(d.t, err)
		must(d.t, lock.Unlock(background))
		return up
	})
	settled(d.t, c)
	return c
}

// settled waits until c has the answer to everything that it has asked. Calls return
// when a quorum has answered: what is to be seen on one master may not be there yet,
// and what is there may not be known to c.
func settled(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, "everything is answered", func() bool {
		for _, m := range c.masters {
			if m.Pending() > 0 {
				return false
			}
		}
		return true
	})
}

func allUp(c *Client) bool {
	for _, m := range c.masters {
		if !m.Usable() {
			return false
		}
	}
	return true
}

// holders tells on which masters name is locked, as a string of 1 and 0.
func (d *deployment) holders(name string) string {
	var b strings.Builder
	for _, r := range d.raw {
		n, err := r.Exists(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
		switch {
		case err != nil:
			b.WriteByte('?')
		default:
			fmt.Fprint(&b, n)
		}
	}
	return b.String()
}

// runBatch runs calls on a master, past the library, in one batch of this source.
func runBatch(source string, r *redis.Client, calls ...script.Call) ([]any, error) {
	version, err := direct.Version(background, r, limits.DefaultPrefix)
	if err != nil {
		return nil, err
	}
	return runBatchAt(source, r, version, calls...)
}

// runBatchAt is runBatch at a version of the table of members.
func runBatchAt(source string, r *redis.Client, version string, calls ...script.Call) ([]any, error) {
	return direct.Run(background, r, "eval", source, limits.DefaultPrefix, version, calls...)
}

// replied is an error that an operation replied.
type replied string

func (e replied) Error() string { return string(e) }
func (replied) RedisError()     {}

// callIn is runBatch for one call, read as a vote.
func callIn(source string, r *redis.Client, c script.Call) (script.Vote, error) {
	replies, err := runBatch(source, r, c)
	return readVote(c, replies, err)
}

func readVote(c script.Call, replies []any, err error) (script.Vote, error) {
	if err != nil {
		return script.Vote{Answer: script.Refused, Err: err}, err
	}
	if reply, ok := replies[0].(int64); ok {
		return c.Read(reply), nil
	}
	err = replied(replies[0].(string))
	return script.Vote{Answer: script.Refused, Err: err}, err
}

// storedLock is what a master has of a lock that is owned; see scripts/lock.lua.
type storedLock struct{ owner, depth, grant, token, waited string }

func (l storedLock) String() string {
	return fmt.Sprintf("%s %s %s %s%s", l.owner, l.depth, l.grant, l.token, l.waited)
}

// lockOn reads the lock from a master; the zero storedLock is one that nobody owns there.
func lockOn(t *testing.T, r *redis.Client, name string) storedLock {
	t.Helper()
	value, err := r.Get(background, script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`^(\S+) (\d+) (\d+) (\d*)(\+?)$`).FindStringSubmatch(value)
	if parts == nil {
		return storedLock{}
	}
	return storedLock{parts[1], parts[2], parts[3], parts[4], parts[5]}
}

func mustTry(t *testing.T, c *Client, name string, opts ...LockOption) *Lock {
	t.Helper()
	lock, err := c.TryLock(context.Background(), name, opts...)
	must(t, err)
	return lock
}

func requireErr(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got error %v; want one that is %v", err, w)
		}
	}
}

// patience is how long a test waits for what must come: only a failing one does.
const patience = 30 * time.Second

// eventually polls for a state that nothing announces, with a deadline.
func eventually(t *testing.T, what string, state func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !state() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// recorder is an observer that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) count(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events {
		if strings.HasPrefix(e, prefix) {
			n++
		}
	}
	return n
}

var background = context.Background()

// drop deletes c's lock on some masters, once c knows that all have it.
func (d *deployment) drop(c *Client, name string, masters ...int) {
	d.t.Helper()
	settled(d.t, c)
	if got := d.holders(name); strings.Contains(got, "0") {
		d.t.Fatalf("held on %s", got)
	}
	for _, i := range masters {
		must(d.t, d.raw[i].Del(background, script.KeysOf(limits.DefaultPrefix, name, "").Lock).Err())
	}
}

// counted waits until the votes of these masters count for the lock: those that were
// repaired do from the next renewal on.
func counted(t *testing.T, lock *Lock, masters ...int) {
	t.Helper()
	eventually(t, fmt.Sprintf("masters %v count", masters), func() bool {
		return !slices.ContainsFunc(masters, func(i int) bool { return !lock.client.now().Before(lock.h.Master(i).Until) })
	})
}

// goLock locks in a goroutine of its own, which ends with the test at the latest.
func goLock(t *testing.T, c *Client, name string, opts ...LockOption) <-chan *Lock {
	got := make(chan *Lock, 1)
	ctx, cancel := context.WithCancel(background)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lock, err := c.Lock(ctx, name, opts...)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			close(got)
			return
		}
		got <- lock
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return got
}

// have returns the lock, or ends the test.
func have(t *testing.T, got <-chan *Lock) *Lock {
	t.Helper()
	lock := <-got
	if lock == nil {
		t.FailNow()
	}
	return lock
}

func requireOptionError(t *testing.T, err error, field string) {
	t.Helper()
	o, ok := errors.AsType[*OptionError](err)
	if !ok || !errors.Is(err, ErrBadOption) || o.Field != field || o.Rule == "" {
		t.Errorf("got %v, want an OptionError on %s", err, field)
	}
}

// wrapped is the options of a master with which each connection to it is wrapped.
func wrapped(m testMaster, wrap func(net.Conn) net.Conn) *redis.Options {
	o := m.options()
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	}
	return o
}

var three = []string{"c", "a", "b"}

func mustAll(t *testing.T, c *Client, names []string, opts ...LockOption) *Locks {
	t.Helper()
	locks, err := c.TryLockAll(context.Background(), names, opts...)
	must(t, err)
	return locks
}

func unlockAll(t *testing.T, locks ...*Lock) {
	t.Helper()
	for _, l := range locks {
		must(t, l.Unlock(background))
	}
}

// What an operator does, for the tests of this package: package admin, which has tests of its own, cannot be imported here.

func (c *Client) found(ctx context.Context, floor fence.Token) error {
	return c.members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), false)
}

func (c *Client) changeMembers(ctx context.Context, change membership.Change, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := c.firstView(ctx, "change the members", noName); err != nil {
		return err
	}
	return c.members.Make(ctx, change, progress)
}

func suspendMember(address string) membership.Change {
	return membership.Change{Kind: membership.Suspend, Address: address}
}
