package redlock

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// noHello is what a server says to the greeting of go-redis that knows none.
const noHello = "-ERR unknown command 'hello'\r\n"

// rogueRun is the run id of a server that replies as it likes.
const rogueRun = "ffffffffffffffffffffffffffffffffffffffff"

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func array(values ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(values), strings.Join(values, ""))
}

// rogue serves connections as an admitted master would, but for the commands that
// reply has an answer to. It returns its address.
func rogue(t *testing.T, reply func(args []string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); ; {
					args, err := readCommand(in)
					if err != nil {
						return
					}
					said := reply(args)
					if said == "" {
						said = asAdmitted(args)
					}
					if _, err := conn.Write([]byte(said)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func asAdmitted(args []string) string {
	switch args[0] {
	case "hello":
		return noHello
	case "info":
		return bulk("redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nrun_id:" + rogueRun + "\r\nmaxmemory:0\r\n")
	case "get":
		return bulk(admittedValue(rogueRun, notDurable))
	case "config":
		return array(bulk(args[2]), bulk("yes"))
	case "script":
		sum := sha1.Sum([]byte(args[2]))
		return bulk(hex.EncodeToString(sum[:]))
	case "subscribe":
		return array(bulk("subscribe"), bulk(args[1]), ":1\r\n")
	}
	return ":0\r\n"
}

func readCommand(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	args[0] = strings.ToLower(args[0])
	return args, nil
}

// absurd are replies that no master sends. Each is said to whatever is asked.
var absurd = map[string]string{
	"a string of 2^63-1 bytes":  "$9223372036854775807\r\n",
	"a string of 8 GB":          "$8000000000\r\n",
	"an array of 2^63-1":        "*9223372036854775807\r\n",
	"an array of 2^31-1":        "*2147483647\r\n",
	"a map of 2^62":             "%4611686018427387904\r\n",
	"a blob error of 8 GB":      "!8000000000\r\n",
	"arrays in arrays":          strings.Repeat("*1\r\n", 1<<20),
	"wide arrays in arrays":     strings.Repeat("*60000\r\n", 1<<10),
	"a line without end":        "-ERR " + strings.Repeat("x", 2<<20),
	"a string of 2 MB":          bulk(strings.Repeat("x", 2<<20)),
	"a length that is none":     "$x\r\n",
	"a negative length":         "*-2\r\n",
	"nothing of the protocol":   "HTTP/1.1 400 Bad Request\r\n\r\n",
	"an empty array":            "*0\r\n",
	"an array of nils":          "*3\r\n$-1\r\n*-1\r\n_\r\n",
	"a nil":                     "$-1\r\n",
	"a number out of range":     ":9223372036854775808\r\n",
	"the least number":          ":-9223372036854775808\r\n",
	"the largest number":        ":9223372036854775807\r\n",
	"a message without channel": array(bulk("message")),
	"a message of numbers":      array(":1\r\n", ":2\r\n", ":3\r\n"),
	"a subscription to nothing": array(bulk("subscribe"), "$-1\r\n", "$-1\r\n"),
	"a short survey":            array(bulk(rogueRun), bulk(""), bulk("1700000000000"), bulk("1700000000000"), bulk("0")),
	"a survey of none":          array(bulk(rogueRun), bulk(""), bulk("1700000000000"), bulk("1700000000000")),
}

// Whatever one server of three replies to a command, the others decide, and the
// process goes on.
func TestNoReplyOfAServerHurts(t *testing.T) {
	t.Parallel()
	d := processes(t, 2, redisproc.Config{})
	must(t, d.founded().Close())
	holder := besides(t, d, rogue(t, func([]string) string { return "" }))
	t.Cleanup(func() { _ = holder.Close() })
	for _, command := range []string{"evalsha", "eval", "survey", "get", "info", "config", "script", "subscribe", "all"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			for what, said := range absurd {
				asked := make(chan struct{}, 1)
				addr := rogue(t, func(args []string) string {
					switch {
					case command == args[0], command == "all", command == "survey" && args[0] == "evalsha":
						select {
						case asked <- struct{}{}:
						default:
						}
						return said
					case command == "eval" && args[0] == "evalsha":
						return "-NOSCRIPT no\r\n"
					case command == "survey" && args[0] == "get":
						return "$-1\r\n"
					}
					return ""
				})
				name := command + " " + what
				c := besides(t, d, addr)
				if command == "subscribe" || command == "all" { // somebody has to wait for another
					held := mustTry(t, holder, name)
					_, err := c.Lock(background, name, WithWait(time.Millisecond))
					requireErr(t, err, ErrNotAcquired)
					within(t, name, asked)
					must(t, held.Unlock(background))
				}
				lock, err := c.Lock(background, name, WithWait(patience))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if command != "subscribe" {
					within(t, name, asked)
				}
				must(t, lock.Unlock(background))
				must(t, c.Close())
			}
		})
	}
}

// A server that says to be another one takes no vote from it.
func TestAServerWithTheRunIDOfAnother(t *testing.T) {
	t.Parallel()
	d := processes(t, 2, redisproc.Config{AppendFsync: "always"})
	d.founded()
	info, err := d.raw[0].Info(background, "server").Result()
	must(t, err)
	run := parseInfo(info)["run_id"]
	impostor := rogue(t, func(args []string) string {
		switch args[0] {
		case "info":
			return bulk("redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nrun_id:" + run + "\r\n")
		case "get":
			return bulk(admittedValue(run, notDurable))
		}
		return ""
	})
	for i := range 10 {
		c := besides(t, d, impostor)
		lock, err := c.Lock(background, fmt.Sprint("job ", i), WithWait(patience))
		must(t, err)
		must(t, lock.Unlock(background))
		must(t, c.Close())
	}
}

// besides returns a client on the masters of d and one more server.
func besides(t *testing.T, d *deployment, addr string) *Client {
	t.Helper()
	var clients []redis.UniversalClient
	for _, at := range []string{d.raw[0].Options().Addr, d.raw[1].Options().Addr, addr} {
		one := redis.NewClient(tuned(&redis.Options{Addr: at}, d.request()))
		t.Cleanup(func() { _ = one.Close() })
		clients = append(clients, one)
	}
	c, err := New(clients, WithRequestTimeout(d.request()))
	must(t, err)
	return c
}

// saidConn is a connection on which a server has said something already, and then
// hangs up.
type saidConn struct {
	net.Conn
	*bytes.Reader
}

func (s saidConn) Read(p []byte) (int, error)     { return s.Reader.Read(p) }
func (saidConn) Write(p []byte) (int, error)      { return len(p), nil }
func (saidConn) Close() error                     { return nil }
func (saidConn) SetDeadline(time.Time) error      { return nil }
func (saidConn) SetReadDeadline(time.Time) error  { return nil }
func (saidConn) SetWriteDeadline(time.Time) error { return nil }
func (saidConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (saidConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }

// openGate lets every server in.
type openGate struct{}

func (openGate) greeting() []command {
	return []command{text("info"), text("get", "key"), pairs("config", "get", "appendonly")}
}
func (openGate) greeted(*master, []reply) (session, error) { return openGate{}, nil }
func (openGate) admit() (*inquiry, error)                  { return nil, nil }
func (openGate) readmit() error                            { return nil }

// toldBy returns a master each of whose connections says text, and how many there
// were.
func toldBy(t testing.TB, said []byte, through func(net.Conn) net.Conn) (*master, *int) {
	dialled := new(int)
	r := redis.NewClient(&redis.Options{
		Addr: "rogue", Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, DialerRetryTimeout: 1, PoolSize: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			*dialled++
			return through(saidConn{Reader: bytes.NewReader(append([]byte(noHello), said...))}), nil
		},
	})
	t.Cleanup(func() { _ = r.Close() })
	m := newMaster(masterConfig{
		Name: "rogue", Endpoint: endpoint{redis: r, subscriber: r}, Now: clock.Read, SideTimeout: admissionTimeout, Gate: openGate{},
		Up: func() {}, Down: func(error) {},
	})
	return m, dialled
}

// readAll reads what a server said as a reply to each thing that it is asked.
func readAll(m *master) (all []error) {
	_, err := m.do(openGate{}.greeting()...)
	all = append(all, err)
	_, err = m.evalTexts(surveyScript, nil)
	all = append(all, err)
	all = append(all, m.eval(admitScript, nil))
	all = append(all, m.subscribe(background, "channel", func() {}, func(int, string) {}))
	l := &link{master: m}
	all = append(all, l.greet())
	l.hangUp()
	for n := range 2 {
		live := make([]*request, n+1)
		for i := range live {
			live[i] = &request{call: script.Verify.Call([]*string{&m.Name}, 1)}
		}
		l.conn = m.redis.Conn()
		_ = l.exchange(live)
		l.hangUp()
		for _, r := range live {
			_ = r.read()
			all = append(all, r.err)
		}
	}
	return all
}

// Where the connections are not bounded, go-redis panics on some replies.
func TestAPanicOfTheDriverBreaksTheConnection(t *testing.T) {
	m, dialled := toldBy(t, []byte("$9223372036854775807\r\n:1\r\n"), func(conn net.Conn) net.Conn { return conn })
	for i, err := range readAll(m) {
		if _, ok := errors.AsType[*protocolError](err); !ok {
			t.Errorf("reader %d: %v", i, err)
		}
	}
	before := *dialled
	l := &link{master: m, conn: m.redis.Conn(), argv: []any{"ping"}}
	_, err := l.run()
	if err == nil {
		t.Error("no error")
	}
	l.hangUp()
	_ = driving(func() error { return m.redis.Ping(background).Err() })
	if *dialled == before {
		t.Error("the connection was used again, in the middle of a reply")
	}
}

// All connections that we make are bounded, those for notices too.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2*maxReply)
	addr := rogue(t, func(args []string) string {
		switch args[0] {
		case "info":
			return bulk(large)
		case "subscribe":
			return asAdmitted(args) + array(bulk("message"), bulk(args[1]), bulk(large))
		}
		return ""
	})
	c, err := Open([]string{"redis://" + addr})
	must(t, err)
	defer func() { must(t, c.Close()) }()
	m, stood := c.masters[0], false
	_, err = c.admission.hello(m)
	heard := m.subscribe(background, "channel", func() { stood = true }, func(_ int, text string) { t.Errorf("heard %d bytes", len(text)) })
	for _, err := range []error{err, heard} {
		if _, ok := errors.AsType[*protocolError](err); !ok {
			t.Error(err)
		}
	}
	if !stood {
		t.Error("the subscription did not stand")
	}
}

// No bytes that a server sends make a reader panic.
func FuzzReplies(f *testing.F) {
	for _, said := range absurd {
		f.Add([]byte(said))
		f.Add([]byte(array(said, said)))
		f.Add([]byte(":1\r\n" + said))
	}
	f.Add([]byte(asAdmitted([]string{"info"}) + asAdmitted([]string{"get"})))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _ := toldBy(t, text, bounded)
		readAll(m)
	})
}

func FuzzSurvey(f *testing.F) {
	f.Add(rogueRun, "", "1700000000000", "1700000000000", "0", 1)
	f.Add(rogueRun, "in x 2 4096 yes", "9223372036854775807", "-9223372036854775808", "9223372036854775807", 1)
	f.Add("", "out", "0", "", "-1", 0)
	f.Fuzz(func(t *testing.T, run, admitted, now, since, counter string, counters int) {
		reply := []string{run, admitted, now, since}
		for range counters % 8 {
			reply = append(reply, counter)
		}
		s, err := parseSurvey(reply, 1)
		if err != nil {
			return
		}
		if len(s.counters) != 1 || s.counters[0] < 0 || s.counters[0] > script.MaxCounter {
			t.Errorf("%q is read as %+v", reply, s)
		}
		planAdmission([]*survey{s, nil, {counters: []int64{1}}}, nil, 2, time.Minute, 1)
	})
}

// The bound on replies does not depend on how they are cut, lets all through that
// are within it, and ends those that announce more before it comes.
func TestRepliesAreBounded(t *testing.T) {
	within := array(strings.Repeat("x", 0)+bulk(strings.Repeat("x", maxReply-100)), ":1\r\n")
	for what, c := range map[string]struct {
		stream string
		ok     bool
	}{
		"a large string":         {within, true},
		"two in a row":           {within + within, true},
		"many small ones":        {strings.Repeat(":1\r\n+OK\r\n$2\r\nab\r\n$-1\r\n", 1<<16), true},
		"an array":               {array(strings.Split(strings.Repeat(":1\r\n ", maxElements-1), " ")...), true},
		"nested":                 {strings.Repeat(array(array(":1\r\n", array()), bulk("\n*9\r\n"), "%1\r\n+a\r\n#t\r\n"), 1<<16), true},
		"attributes":             {strings.Repeat("|1\r\n+a\r\n:1\r\n:2\r\n", 1<<16), true},
		"a string of 1 MB":       {fmt.Sprintf("$%d\r\n", maxReply), false},
		"too many values":        {fmt.Sprintf("*%d\r\n", maxElements+1), false},
		"too many in two arrays": {fmt.Sprintf("*2\r\n*%d\r\n", maxElements-1), false},
		"a long line":            {"+" + strings.Repeat("x", maxReply), false},
		"too many bytes in all":  {"*2\r\n" + bulk(strings.Repeat("x", maxReply/2)) + fmt.Sprintf("$%d\r\n", maxReply/2), false},
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
