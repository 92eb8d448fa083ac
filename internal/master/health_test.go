package master

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/script"
)

var errFull = errors.New("no room for one more connection")

// linked is a master to which new connections can be refused.
type linked struct {
	*Master
	t     *testing.T
	raw   *redis.Client
	full  bool
	downs int
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
			return nil, errFull
		}
		return dial(ctx, network, addr)
	}
	m.Master = New(Config{
		Name: "embedded", Endpoint: NewEndpoint(o, time.Second), Register: "register", SideTimeout: time.Second, Gate: openGate{},
		Now: func() clock.Instant { return clock.Instant(time.Since(epoch)) },
		Up:  func() {}, Down: func(error) { m.downs++ },
	})
	t.Cleanup(func() { _ = m.redis.Close() })
	t.Cleanup(m.hangUp)
	if err := m.raw.HSet(context.Background(), m.Register, "votes", "1").Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// on returns another link.
func (m *linked) on() *link {
	l := &link{master: m.Master}
	m.links = append(m.links, l)
	return l
}

// loses makes the link lose its connection.
func loses(l *link) {
	l.spoil()
	l.hangUp()
}

// asks sends a request on a link.
func (m *linked) asks(l *link, want script.Answer) {
	m.t.Helper()
	time.Sleep(MaxRetry) // the pause after a failure
	owner := "owner"
	k := script.KeysOf("redlock", "job", owner)
	if err := m.raw.Set(context.Background(), k.Fence, 1_000_000_000_000, 0).Err(); err != nil {
		m.t.Fatal(err)
	}
	acquire := script.Acquire.Call([]*string{&k.Lock, &k.Fence, &k.Gone, &k.Queue}, &owner, 30_000)
	var told script.Vote
	l.serve([]*Request{{Call: acquire, Version: "1", To: answerInto{&told}}})
	if told.Answer != want {
		m.t.Fatalf("it answered %+v, want %v", told, want)
	}
}

// wants checks whether the master is usable, and how often it was told to be down.
func (m *linked) wants(usable bool, downs int) {
	m.t.Helper()
	if m.Usable() != usable || m.downs != downs {
		m.t.Fatalf("usable: %v, down %d times; want %v and %d", m.Usable(), m.downs, usable, downs)
	}
}

// A master to which one link more could not be connected is not down while another one is, and
// once it has answered that one, the failure refuses nobody any more.
func TestAnAnswerOutdatesAFailureToConnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLinked(t)
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.full = true
		m.asks(b, script.Refused)
		m.wants(true, 0)
		m.full = false
		m.asks(b, script.Refused) // nothing says yet that it is over
		loses(b)
		m.full = true
		m.asks(b, script.Refused)
		m.asks(a, script.Granted)
		m.full = false
		m.asks(b, script.Granted)
		m.wants(true, 0)
	})
}

// A master is down when no link is connected and none can be; told once.
func TestAMasterIsDownWithItsLastLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLinked(t)
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.asks(b, script.Granted)
		m.full = true
		loses(a)
		m.asks(a, script.Refused)
		m.wants(true, 0)
		loses(b)
		m.asks(a, script.Refused)
		m.wants(false, 1)
		m.asks(b, script.Refused)
		m.wants(false, 1)
	})
}

// A server that answers on a new connection, and may not be used, is down whatever others are.
func TestAServerThatIsRefusedIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLinked(t)
		a, b := m.on(), m.on()
		m.asks(a, script.Granted)
		m.Gate = closedGate{why: NotMember("it restarted", time.Second)}
		m.asks(b, script.Refused)
		m.wants(false, 1)
	})
}

// What leaves takes a link that is connected, if one is free.
func TestConnectedLinksGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newLinked(t)
		a, b, c := m.on(), m.on(), m.on()
		for _, l := range []*link{b, c} {
			m.asks(l, script.Granted)
		}
		for _, want := range []*link{b, c, a} {
			m.inFlight, m.trip, m.recent, m.leftAt = 0, farTrip, farTrip, 0
			if l, _ := m.room(); l != want {
				t.Fatalf("it takes another link than %p: %p", want, l)
			}
			want.inFlight = true
		}
	})
}
