package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is the longest wait for an event that must come. quiet is the wait for an event that must not.
const (
	patience = 30 * time.Second
	quiet    = 50 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s: not within %s", what, patience)
	}
}

func open(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
		t.Fatal(what)
	default:
	}
}

// master replies to each request with the request's arguments, and sends them to the test. Before the reply to "push",
// it sends pushed data.
type master struct {
	t    *testing.T
	addr string
	got  chan string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	wg       sync.WaitGroup
}

func startMaster(t *testing.T) *master {
	t.Helper()
	m := &master{t: t, got: make(chan string, 10_000)}
	m.listen("127.0.0.1:0")
	t.Cleanup(m.stop)
	return m
}

func (m *master) listen(addr string) {
	m.t.Helper()
	listener, err := net.Listen("tcp", addr)
	check(m.t, err)
	m.listener, m.addr = listener, listener.Addr().String()
	m.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.conns = append(m.conns, conn)
			m.mu.Unlock()
			m.wg.Go(func() { m.serve(conn) })
		}
	})
}

func (m *master) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		_, args, err := readRequest(r)
		if err != nil {
			return
		}
		text := strings.Join(args, " ")
		m.got <- text
		if args[0] == "push" {
			fmt.Fprint(conn, ">1\r\n+pushed\r\n")
		}
		fmt.Fprintf(conn, "+%s\r\n", text)
	}
}

// stop ends the master and its connections, as a crash would.
func (m *master) stop() {
	_ = m.listener.Close()
	m.mu.Lock()
	for _, conn := range m.conns {
		_ = conn.Close()
	}
	m.mu.Unlock()
	m.wg.Wait()
}

func (m *master) gets(wants ...string) {
	m.t.Helper()
	for _, want := range wants {
		select {
		case got := <-m.got:
			if got != want {
				m.t.Fatalf("the master got %q, want %q", got, want)
			}
		case <-time.After(patience):
			m.t.Fatalf("the master did not get %q", want)
		}
	}
}

// getsNothing requires that no request comes.
func (m *master) getsNothing() {
	m.t.Helper()
	select {
	case got := <-m.got:
		m.t.Fatalf("the master got %q", got)
	case <-time.After(quiet):
	}
}

type user struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, addr string) *user {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return &user{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// sends sends requests, each given as words with blanks between them.
func (u *user) sends(requests ...string) {
	u.t.Helper()
	var b strings.Builder
	for _, text := range requests {
		b.WriteString(encode(strings.Fields(text)...))
	}
	_, err := u.conn.Write([]byte(b.String()))
	check(u.t, err)
}

func (u *user) read(within time.Duration) (string, error) {
	u.t.Helper()
	check(u.t, u.conn.SetReadDeadline(time.Now().Add(within)))
	line, err := u.r.ReadString('\n')
	return strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\r\n"), err
}

func (u *user) gets(wants ...string) {
	u.t.Helper()
	for _, want := range wants {
		if got, err := u.read(patience); got != want || err != nil {
			u.t.Fatalf("the client got %q, %v; want %q", got, err, want)
		}
	}
}

func (u *user) does(requests ...string) {
	u.t.Helper()
	u.sends(requests...)
	u.gets(requests...)
}

// seesSilence requires that neither a reply nor an end comes.
func (u *user) seesSilence() {
	u.t.Helper()
	if got, err := u.read(quiet); !errors.Is(err, os.ErrDeadlineExceeded) {
		u.t.Fatalf("the client got %q, %v; want silence", got, err)
	}
}

// seesReset waits for a reset, after the beginning of a reply.
func (u *user) seesReset(beginning string) {
	u.t.Helper()
	if got, err := u.read(patience); got != beginning || !errors.Is(err, syscall.ECONNRESET) {
		u.t.Fatalf("the client got %q, %v; want %q and a reset", got, err, beginning)
	}
}

// setup starts a master, a proxy before it and a client.
func setup(t *testing.T) (*Proxy, *master, *user) {
	t.Helper()
	t.Parallel()
	m := startMaster(t)
	p, err := New(m.addr)
	check(t, err)
	t.Cleanup(func() { check(t, p.Close()) })
	return p, m, dial(t, p.Addr())
}
