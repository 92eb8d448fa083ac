package master

import (
	"bytes"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/embedded"
)

// lossy is a connection that loses what has a word in it, and says nothing of that.
type lossy struct {
	net.Conn
	word string
}

func (l lossy) Write(p []byte) (int, error) {
	if l.word != "" && bytes.Contains(p, []byte(l.word)) {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

// Who waits is not called on a connection that lost something: that is found out within a request
// timeout, and not within twice the time for which a subscription may be silent.
func TestASubscriptionThatIsNotAnsweredIsGivenUp(t *testing.T) {
	t.Parallel()
	const timeout = 150 * time.Millisecond
	for _, x := range []struct {
		lost   string
		stands bool
		ends   time.Duration
	}{
		{"subscribe", false, timeout},
		{"ping", true, pingAfter + timeout},
		{"", true, time.Minute}, // the test ends it
	} {
		synctest.Test(t, func(t *testing.T) {
			server := embedded.New()
			defer server.Close()
			options, dial := server.Options(), server.Dialer()
			options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return lossy{conn, x.lost}, err
			}
			e := NewEndpoint(options, timeout)
			defer func() { _ = e.Redis.Close() }()
			m := New(Config{Endpoint: e, Now: clock.Read, Gate: openGate{}, Up: func() {}, Down: func(error) {}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			stood, begin := false, time.Now() // it stands, and the connection is known to be of use
			err := m.Subscribe(ctx, "channel", func() error { stood = m.door.useless == 0; return nil }, func(string) {})
			if took := time.Since(begin); err == nil || stood != x.stands || took != x.ends {
				t.Errorf("%q is lost: it stood: %t, and ended after %v (%v), want %t and %v", x.lost, stood, took, err, x.stands, x.ends)
			}
		})
	}
}

// A subscription goes with the connections of its master: the address may lead to another server.
func TestASubscriptionEndsWhenItsMasterReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.New()
		defer server.Close()
		e := NewEndpoint(server.Options(), time.Second)
		defer func() { _ = e.Redis.Close() }()
		m := New(Config{Endpoint: e, Now: clock.Read, Gate: openGate{}, Up: func() {}, Down: func(error) {}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		time.AfterFunc(10*time.Second, m.Reconnect)
		err := m.Subscribe(ctx, "channel", func() error { return nil }, func(string) {})
		if took := time.Since(begin); took > 10*time.Second+pingAfter || ctx.Err() != nil {
			t.Errorf("it ended after %v (%v), and the master reconnected after 10s", took, err)
		}
	})
}
