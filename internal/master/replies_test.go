package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/rogue"
	"github.com/redlock-go/redlock/internal/script"
)

// responseConn is a connection on which a server has already sent a reply, and then hangs up.
type responseConn struct {
	net.Conn
	*bytes.Reader
}

func (s responseConn) Read(p []byte) (int, error)     { return s.Reader.Read(p) }
func (responseConn) Write(p []byte) (int, error)      { return len(p), nil }
func (responseConn) Close() error                     { return nil }
func (responseConn) SetDeadline(time.Time) error      { return nil }
func (responseConn) SetReadDeadline(time.Time) error  { return nil }
func (responseConn) SetWriteDeadline(time.Time) error { return nil }
func (responseConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (responseConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }

type openGate struct{}

func (openGate) Greeting() []Command {
	return []Command{Text("info"), Text("get", "key"), Pairs("config", "get", "appendonly")}
}
func (openGate) Greeted(*Master, []Reply) (string, error) { return "one", nil }
func (openGate) Refused(*Master, string)                  {}

// serverReplying returns a master whose connections all reply response. It also returns the number of connections
// so far.
func serverReplying(t testing.TB, response []byte, through func(net.Conn) net.Conn) (*Master, *int) {
	dialled := new(int)
	r := redis.NewClient(&redis.Options{
		Addr: "rogue", Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: 1, PoolSize: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			*dialled++
			return through(responseConn{Reader: bytes.NewReader(append([]byte(rogue.NoHello), response...))}), nil
		},
	})
	t.Cleanup(func() { _ = r.Close() })
	m := New(Config{
		Name: "rogue", Endpoint: Endpoint{Redis: r, Subscriber: r}, Now: clock.Read, SideTimeout: time.Second, Gate: openGate{},
		Up: func() {}, Down: func(error) {},
	})
	return m, dialled
}

// readAll reads a server's bytes as the reply to each kind of command, and returns the errors.
func readAll(m *Master) (all []error) {
	_, err := m.Do(context.Background(), openGate{}.Greeting()...)
	all = append(all, err)
	_, err = m.EvalTexts(context.Background(), NewScript("return {}"), nil)
	all = append(all, err)
	all = append(all, m.Eval(context.Background(), NewScript("return 1"), nil))
	all = append(all, m.Subscribe(context.Background(), "channel", func() error { return nil }, func(string) {}))
	l := &link{master: m}
	err = l.greet()
	all = append(all, err)
	l.hangUp()
	for n := range 2 {
		live := make([]*Request, n+1)
		for i := range live {
			live[i] = &Request{Call: script.Verify.Call(&script.Keys{Lock: m.Name}, 1)}
		}
		l.conn = m.Redis.Conn()
		_ = l.exchange(live)
		l.hangUp()
		for _, r := range live {
			_ = r.read()
			all = append(all, r.err)
		}
	}
	return all
}

// On a connection that is not bounded, go-redis panics on some replies. Such a panic only breaks the connection.
func TestDriverPanicBreaksConnection(t *testing.T) {
	m, dialled := serverReplying(t, []byte("$9223372036854775807\r\n:1\r\n"), func(conn net.Conn) net.Conn { return conn })
	for i, err := range readAll(m) {
		if _, ok := errors.AsType[*ProtocolError](err); !ok {
			t.Errorf("reader %d: %v", i, err)
		}
	}
	before := *dialled
	l := &link{master: m, conn: m.Redis.Conn(), argv: []any{"ping"}}
	_, err := l.run()
	if err == nil {
		t.Error("no error")
	}
	l.hangUp()
	_ = withRecover(func() error { return m.Redis.Ping(context.Background()).Err() })
	if *dialled == before {
		t.Error("the connection was used again, in the middle of a reply")
	}
}

// No bytes that a server sends make a reader panic.
func FuzzReplies(f *testing.F) {
	for _, response := range rogue.Absurd {
		f.Add([]byte(response))
		f.Add([]byte(rogue.Array(response, response)))
		f.Add([]byte(":1\r\n" + response))
	}
	f.Add([]byte(rogue.Bulk("redis_version:7.0.15\r\nrole:master\r\n") + rogue.Bulk("key") + rogue.Array(rogue.Bulk("appendonly"), rogue.Bulk("yes")) + rogue.Bulk("sha")))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _ := serverReplying(t, text, new(door).keep)
		readAll(m)
	})
}

// The limit on replies does not depend on how replies are split. Smaller replies pass. A larger reply is stopped
// before all of it has arrived.
func TestRepliesAreBounded(t *testing.T) {
	within := rogue.Array(strings.Repeat("x", 0)+rogue.Bulk(strings.Repeat("x", maxReply-100)), ":1\r\n")
	for what, c := range map[string]struct {
		stream string
		ok     bool
	}{
		"a large string":         {within, true},
		"two in a row":           {within + within, true},
		"many small ones":        {strings.Repeat(":1\r\n+OK\r\n$2\r\nab\r\n$-1\r\n", 1<<16), true},
		"an array":               {rogue.Array(strings.Split(strings.Repeat(":1\r\n ", maxElements-1), " ")...), true},
		"nested":                 {strings.Repeat(rogue.Array(rogue.Array(":1\r\n", rogue.Array()), rogue.Bulk("\n*9\r\n"), "%1\r\n+a\r\n#t\r\n"), 1<<16), true},
		"attributes":             {strings.Repeat("|1\r\n+a\r\n:1\r\n:2\r\n", 1<<16), true},
		"a string of 1 MB":       {fmt.Sprintf("$%d\r\n", maxReply), false},
		"too many values":        {fmt.Sprintf("*%d\r\n", maxElements+1), false},
		"too many in two arrays": {fmt.Sprintf("*2\r\n*%d\r\n", maxElements-1), false},
		"a long line":            {"+" + strings.Repeat("x", maxReply), false},
		"too many bytes in all":  {"*2\r\n" + rogue.Bulk(strings.Repeat("x", maxReply/2)) + fmt.Sprintf("$%d\r\n", maxReply/2), false},
		"no number":              {"$1x\r\n", false},
		"a number too long":      {"$" + strings.Repeat("0", 30) + "1\r\n", false},
		"below -1":               {"*-2\r\n", false},
	} {
		for _, size := range []int{1, 2, 7, 4096, len(c.stream)} {
			var g replyGauge
			var err error
			for rest := []byte(c.stream); len(rest) > 0 && err == nil; {
				n := min(size, len(rest))
				_, err = g.take(rest[:n])
				rest = rest[n:]
			}
			if (err == nil) != c.ok {
				t.Errorf("%s, %d bytes at a time: %v", what, size, err)
			}
		}
	}
}

// When a server hangs up, its reason is reported, at whatever point of the handshake go-redis is. With a password,
// go-redis takes the reason for the reply to HELLO, and sends AUTH. If the connection ends abruptly, the reason must
// be read before the reset.
func TestHangUpReasonIsReported(t *testing.T) {
	t.Parallel()
	const reason = "ERR max number of clients reached"
	for _, abrupt := range []bool{false, true} {
		for _, password := range []string{"", "secret"} {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Write([]byte("-" + reason + "\r\n"))
					if abrupt { // the client's greeting is not read
						time.Sleep(time.Millisecond)
					}
					_ = conn.Close()
				}
			}()
			m := New(Config{
				Endpoint: NewEndpoint(&redis.Options{Addr: listener.Addr().String(), Password: password}, time.Second), SideTimeout: time.Second,
				Now: clock.Read, Gate: openGate{}, Up: func() {}, Down: func(error) {},
			})
			t.Cleanup(func() { _ = m.Redis.Close() })
			m.door.paces = false
			for i, err := range readAll(m)[:5] { // the later commands have no connection
				if err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("password %q, abrupt %v: reader %d gets %v", password, abrupt, i, err)
				}
			}
		}
	}
}

// Bytes that a server sent before a reset can still be read after a write has failed.
func TestReplyIsReadAfterWriteError(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	c := new(door).keep(brokenWrites{near})
	defer c.Close()
	go func() { _, _ = far.Write([]byte("-DENIED in protected mode\r\n")) }()
	if _, err := c.Write([]byte("ping")); err == nil || !strings.Contains(err.Error(), `"DENIED in protected mode" (broken pipe)`) {
		t.Error(err)
	}
}

type brokenWrites struct{ net.Conn }

func (brokenWrites) Write([]byte) (int, error) { return 0, syscall.EPIPE }
