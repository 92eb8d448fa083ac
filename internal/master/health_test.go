package master

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/script"
)

var errFull = errors.New("no room for one more connection")

// linked is a master for tests that can make new connections fail.
type linked struct {
	*Master
	t     *testing.T
	raw   *redis.Client
	full  bool
	hangs time.Duration // how long a refusal takes
	conns []*faultyConn
	downs int
	lacks error // why the gate refuses new connections; nil: it does not
}

// lackingGate refuses new connections while linked.lacks is set.
type lackingGate struct {
	openGate
	of *linked
}

func (g lackingGate) Greeted(m *Master, replies []Reply) (string, error) { return "one", g.of.lacks }

// faultyConn is a connection whose requests can get lost, or be late.
type faultyConn struct {
	net.Conn
	silent atomic.Bool
	delay  atomic.Int64
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if c.silent.Load() {
		return len(b), nil
	}
	time.Sleep(time.Duration(c.delay.Load()))
	return c.Conn.Write(b)
}

// onLinked runs a test in virtual time on a linked master.
func onLinked(t *testing.T, test func(t *testing.T, m *linked)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newLinked(t)) })
}

func newLinked(t *testing.T) *linked {
	epoch := time.Now()
	server := embedded.New()
	t.Cleanup(server.Close)
	m := &linked{t: t, raw: redis.NewClient(server.Options())}
	t.Cleanup(func() { _ = m.raw.Close() })
	o := server.Options()
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if m.full {
			time.Sleep(m.hangs)
			return nil, errFull
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		m.conns = append(m.conns, &faultyConn{Conn: c})
		return m.conns[len(m.conns)-1], nil
	}
	m.Master = New(Config{
		Name: "embedded", Endpoint: NewEndpoint(o, time.Second), Register: "register", SideTimeout: time.Second, Gate: lackingGate{of: m},
		Now: func() clock.Instant { return clock.Instant(time.Since(epoch)) },
		Up:  func() {}, Down: func(error) { m.downs++ },
	})
	t.Cleanup(func() { _ = m.Redis.Close() })
	t.Cleanup(m.hangUp)
	makeMember(t, m.raw, m.Register, "1")
	return m
}

// makeMember makes a server the member "one", which votes at a version.
func makeMember(t *testing.T, r *redis.Client, register, version string) {
	t.Helper()
	info, err := r.Info(context.Background(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, behind, _ := strings.Cut(info, "run_id:")
	run, _, _ := strings.Cut(behind, "\r\n")
	if err := r.HSet(context.Background(), register, "id", "one", "run", run, "votes", script.Header("one", version)).Err(); err != nil {
		t.Fatal(err)
	}
}

func (m *linked) on() *link {
	l := &link{master: m.Master}
	m.links = append(m.links, l)
	return l
}

// asks sends a request on a link after the pause that follows a failure, and checks the answer.
func (m *linked) asks(l *link, want script.Answer) {
	m.t.Helper()
	time.Sleep(MaxRetry)
	if got := m.ask(l); got.Answer != want {
		m.t.Fatalf("it answered %+v, want %v", got, want)
	}
}

// ask sets the counter of the master, sends a request on a link, and returns the answer.
func (m *linked) ask(l *link) script.Vote {
	m.t.Helper()
	if err := m.raw.Set(context.Background(), script.KeysOf("redlock", "job", "owner").Fence, int64(1_000_000_000_000), 0).Err(); err != nil {
		m.t.Fatal(err)
	}
	return m.acquire(l, "owner")
}

func (m *linked) acquire(l *link, owner string) script.Vote {
	k := script.KeysOf("redlock", "job", owner)
	acquire := script.Acquire.Call(&k, &owner, 30_000, 0)
	var vote script.Vote
	l.serve([]*Request{{Call: acquire, Version: "1", To: answerInto{&vote}}})
	return vote
}

// wants checks whether the master is usable, and how often the master was reported as down.
func (m *linked) wants(usable bool, downs int) {
	m.t.Helper()
	if m.Usable() != usable || m.downs != downs {
		m.t.Fatalf("usable: %v, down %d times; want %v and %d", m.Usable(), m.downs, usable, downs)
	}
}

// The check on a new connection finds a missing right, and the master is reported as down. Connected links
// continue. They detect when the right is back, although none of them needs a new connection.
func TestMasterUpWithoutNewLink(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.lacks = script.ErrDenied
		m.asks(b, script.Refused)
		m.wants(false, 1)
		time.Sleep(MaxOut)
		m.asks(a, script.Granted)
		m.wants(false, 1)
		m.lacks = nil
		m.asks(a, script.Granted)
		m.wants(false, 1) // the last check was a moment ago
		time.Sleep(MaxOut)
		m.asks(a, script.Granted)
		m.wants(true, 1)
	})
}

// If a link cannot connect, the master is not down while another link is connected. The failure no longer counts
// when the master has answered on the other link.
func TestAnswerOverridesConnectFailure(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.full = true
		m.asks(b, script.Refused)
		m.wants(true, 0)
		m.full = false
		m.asks(b, script.Refused) // nothing shows yet that the failure is over
		b.drop()
		m.full = true
		m.asks(b, script.Refused)
		m.asks(a, script.Granted)
		m.full = false
		m.asks(b, script.Granted)
		m.wants(true, 0)
	})
}

// A master is down when no link is connected and no link can connect. This is reported once.
func TestMasterDownWithLastLink(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.asks(b, script.Granted)
		m.full = true
		a.drop()
		m.asks(a, script.Refused)
		m.wants(true, 0)
		b.drop()
		m.asks(a, script.Refused)
		m.wants(false, 1)
		m.asks(b, script.Refused)
		m.wants(false, 1)
	})
}

// A full master keeps its connections: an OOM reply shows nothing about the connection or the master's
// identity. A check after each such reply would delay renewals by a round trip.
func TestFullMasterKeepsConnection(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		l := m.on()
		m.asks(l, script.Granted)
		ctx := context.Background()
		if err := errors.Join(m.raw.Del(ctx, script.KeysOf("redlock", "job", "owner").Lock).Err(), m.raw.ConfigSet(ctx, "maxmemory", "1").Err()); err != nil {
			t.Fatal(err)
		}
		conn := l.conn
		if got := m.acquire(l, "another"); got.Answer != script.Refused || !redis.HasErrorPrefix(got.Err, "OOM") || l.conn != conn {
			t.Errorf("it answered %+v; the same connection: %v", got, l.conn == conn)
		}
	})
}

type closedGate struct {
	openGate
	why error
}

func (g closedGate) Greeted(*Master, []Reply) (string, error) { return "", g.why }

// A server that is too busy for one more connection is not down while other connections answer.
func TestBusyServerIsNotDown(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.Gate = closedGate{why: errors.New("BUSY Redis is busy running a script")}
		m.asks(b, script.Refused)
		m.Gate = openGate{}
		m.asks(a, script.Granted)
		m.wants(true, 0)
	})
}

// If all connections are silent, the time-out of one request is enough to drop all of them.
func TestSilentConnectionsAreDroppedTogether(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		for range 4 {
			m.asks(m.on(), script.Granted)
		}
		for _, c := range m.conns {
			c.silent.Store(true)
		}
		for _, want := range []script.Answer{script.Unknown, script.Granted} {
			l, _ := m.room()
			m.asks(l, want)
		}
	})
}

// An answer to a batch that was sent before a failure does not replace the time of a newer answer.
func TestOlderAnswerIsIgnored(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		slow, fast, none := m.on(), m.on(), m.on()
		m.asks(slow, script.Granted)
		m.asks(fast, script.Granted)
		m.conns[0].delay.Store(int64(5 * MaxRetry))
		done := make(chan script.Vote)
		go func() { done <- m.ask(slow) }()
		synctest.Wait()
		m.full = true
		m.asks(none, script.Refused)
		m.asks(fast, script.Granted)
		if got := <-done; got.Answer != script.Granted {
			t.Fatalf("%+v", got)
		}
		m.full = false
		m.asks(none, script.Granted)
	})
}

// While one link waits for a connection, requests are not refused if another link has a connection.
func TestConnectedLinkServesRequests(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.full = true
		m.asks(b, script.Refused)
		time.Sleep(MaxRetry)
		m.hangs = time.Second
		done := make(chan script.Vote)
		go func() { done <- m.ask(b) }()
		synctest.Wait()
		m.mu.Lock()
		err := m.refusal(&Request{})
		m.mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		<-done
	})
}

// After Reconnect, a master sends nothing more on the connections that it had before.
func TestReconnect(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.asks(b, script.Granted)
		m.Reconnect()
		for _, l := range []*link{a, b} {
			before := l.conn
			m.asks(l, script.Granted)
			if l.conn == before {
				t.Error("it goes on with the connection that it had")
			}
		}
		if want := 4; len(m.conns) != want {
			t.Errorf("%d connections were made, want %d", len(m.conns), want)
		}
	})
}

// movingGate behaves as if each connection led to another server.
type movingGate struct{ openGate }

func (movingGate) Greeted(m *Master, _ []Reply) (string, error) {
	m.Reconnect()
	return "one", nil
}

// If the address leads to another server each time, the batch is given up.
func TestAddressOfChangingServers(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		m.Gate = movingGate{}
		m.asks(m.on(), script.Refused)
		if len(m.conns) != maxReconnects {
			t.Errorf("%d connections, want %d", len(m.conns), maxReconnects)
		}
		m.Gate = openGate{}
		m.asks(m.on(), script.Granted)
	})
}

// The looks at a server and the steps there use the same connection. Otherwise the connection for the steps could
// lead to another server, where each step fails, and no look would show this.
func TestLookAndStepsShareConnection(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		_, looked := m.Do(t.Context(), m.Gate.Greeting()...)
		stepped := m.Eval(t.Context(), NewScript("return 1"), nil)
		if looked != nil || stepped != nil || len(m.conns) != 1 {
			t.Errorf("%d connections: %v, %v", len(m.conns), looked, stepped)
		}
	})
}

// A master that is down from the start is reported at the first try.
func TestMasterDownFromStart(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		m.full = true
		m.asks(m.on(), script.Refused)
		m.wants(false, 1)
		m.asks(m.on(), script.Refused)
		m.wants(false, 1)
	})
}
