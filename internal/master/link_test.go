package master

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/script"
)

// A batch has the newest version of its requests. Requests with an older version are refused, because their votes
// would count at the older version. Requests without a version run in any batch.
func TestBatchHasOneVersion(t *testing.T) {
	onLinked(t, func(t *testing.T, m *linked) {
		ctx := context.Background()
		l := m.on()
		for _, x := range []struct {
			votes string // the version at which the master votes
			batch string // the versions of the requests; "-": a request without a version
			want  string // the answer to each request; y: yes, v: the master is at another version
			runs  string // for each request; 1: the master ran it, 0: it did not
		}{
			{"1", "1 1", "y y", "1 1"},
			{"2", "1 2", "v y", "0 1"},
			{"2", "2 1", "y v", "1 0"},
			{"2", "1 2 1 -", "v y v y", "0 1 0 1"},
			{"1", "1 2", "v v", "0 0"}, // the master has not accepted the newer version: nothing runs
			{"2", "1 -", "v y", "0 1"},
			{"2", "- -", "y y", "1 1"},
			{"10", "09 10", "v y", "0 1"},
		} {
			var batch []*Request
			var keys []string
			versions := strings.Fields(x.batch)
			answers := make([]script.Vote, len(versions))
			for i, version := range versions {
				owner := fmt.Sprint("owner", i)
				k := script.KeysOf("redlock", fmt.Sprint("job", i), owner)
				if err := m.raw.Set(ctx, k.Fence, int64(1_000_000_000_000), 0).Err(); err != nil {
					t.Fatal(err)
				}
				r := &Request{Version: version, To: answerInto{&answers[i]}}
				if version == "-" {
					r.Version = ""
					if err := m.raw.Set(ctx, k.Lock, owner+" 1 7 ", 0).Err(); err != nil {
						t.Fatal(err)
					}
					r.Call = script.Undo.Call(&k, &owner, 30_000, "", "")
					keys = append(keys, k.Gone)
				} else {
					r.Call = script.Acquire.Call(&k, &owner, 30_000, 0)
					keys = append(keys, k.Lock)
				}
				batch = append(batch, r)
			}
			makeMember(t, m.raw, m.Register, x.votes)
			l.serve(batch)
			var replied, ran []string
			for i, v := range answers {
				switch {
				case v.Answer == script.Granted:
					replied = append(replied, "y")
				case v.Answer == script.Refused && v.Err == script.ErrVersion && !v.MayArrive:
					replied = append(replied, "v")
				default:
					replied = append(replied, fmt.Sprintf("%+v", v))
				}
				ran = append(ran, fmt.Sprint(m.raw.Exists(ctx, keys[i]).Val()))
			}
			if got := strings.Join(replied, " "); got != x.want {
				t.Errorf("it votes at %s, and the batch is of %s: answered %s, want %s", x.votes, x.batch, got, x.want)
			}
			if got := strings.Join(ran, " "); got != x.runs {
				t.Errorf("it votes at %s, and the batch is of %s: it ran %s, want %s", x.votes, x.batch, got, x.runs)
			}
			if err := m.raw.FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// saying is a connection to a server that knows only the commands in replies.
type saying struct {
	net.Conn
	replies map[string]string // by command
	reply   *bytes.Buffer
}

func (s saying) Write(b []byte) (int, error) {
	if b[0] != '*' { // the rest of a long command
		return len(b), nil
	}
	reply := "-ERR unknown command\r\n"
	for command, text := range s.replies {
		if bytes.Contains(b, []byte("\r\n"+command+"\r\n")) {
			reply = text
		}
	}
	s.reply.WriteString(reply)
	return len(b), nil
}

func (s saying) Read(b []byte) (int, error)     { return s.reply.Read(b) }
func (saying) SetDeadline(time.Time) error      { return nil }
func (saying) SetReadDeadline(time.Time) error  { return nil }
func (saying) SetWriteDeadline(time.Time) error { return nil }

// The reply to a batch has a reply for each call. After these it may have keys of locks to continue with, at most
// as many. If the number is wrong, the answers to all calls are unknown.
func TestBatchReplyCount(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		replies string // the reply to a batch of two calls
		fine    bool
		goesOn  []string
	}{
		{"*0", false, nil},
		{"*1 :7", false, nil},
		{"*2 :7 :8", true, nil},
		{"*3 :7 :8 +lock", true, []string{"lock"}},
		{"*4 :7 :8 +lock +other", true, []string{"lock", "other"}},
		{"*4 :7 :8 :9 +other", true, []string{"other"}},
		{"*5 :7 :8 +lock +other +third", false, nil},
	} {
		for _, tells := range []bool{false, true} {
			o := &redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				t.Cleanup(func() { _ = far.Close() })
				replies := strings.ReplaceAll(x.replies, " ", "\r\n") + "\r\n"
				return saying{near, map[string]string{"evalsha": "-NOSCRIPT no\r\n", "eval": replies}, new(bytes.Buffer)}, nil
			}}
			m := New(Config{Endpoint: NewEndpoint(o, time.Second), Register: "register", Gate: openGate{}, Now: clock.Read, Up: func() {}, Down: func(error) {}})
			t.Cleanup(func() { _ = m.Redis.Close() })
			var goesOn []string
			if tells {
				m.GoOn = func(lockKey string) { goesOn = append(goesOn, lockKey) }
			}
			var took []int
			begin := clock.Read()
			m.Called = func(d time.Duration, operations int, err error) {
				if took = append(took, operations); (err == nil) != x.fine || d > clock.Read().Sub(begin) {
					t.Errorf("%s: it took %v, and returned %v", x.replies, d, err)
				}
			}
			l := &link{master: m, conn: m.Redis.Conn()}
			m.health.connected.Add(1)
			k := script.KeysOf("redlock", "job", "owner")
			live := []*Request{{Call: script.Verify.Call(&k, 1)}, {Call: script.Verify.Call(&k, 1)}}
			err := l.exchange(live)
			if (err == nil) != x.fine || (l.conn != nil) != x.fine {
				t.Errorf("%s: %v, and there is a connection: %v", x.replies, err, l.conn != nil)
			}
			for i, r := range live {
				if x.fine && (r.err != nil || r.reply != int64(7+i)) || !x.fine && (r.err == nil || r.read().Answer != script.Unknown) {
					t.Errorf("%s: call %d: %d, %v", x.replies, i, r.reply, r.err)
				}
			}
			if want := x.goesOn; tells && !slices.Equal(goesOn, want) {
				t.Errorf("%s: it goes on at %v, want %v", x.replies, goesOn, want)
			}
			if !slices.Equal(took, []int{2}) {
				t.Errorf("%s: reported batches of %v operations, want one of 2", x.replies, took)
			}
			l.hangUp()
		}
	}
}

// lossy is a connection that silently drops writes that contain a word.
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

// If a SUBSCRIBE is lost, the waiter gets no calls. The loss is detected after one request timeout. (It would take
// twice the time that a subscription may be silent, if only silence were detected.)
func TestUnansweredSubscriptionTimesOut(t *testing.T) {
	t.Parallel()
	const timeout = 150 * time.Millisecond
	for _, x := range []struct {
		lost       string
		subscribed bool
		ends       time.Duration
	}{
		{"subscribe", false, timeout},
		{"ping", true, pingAfter + timeout},
		{"", true, time.Minute}, // the test ends the subscription
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
			subscribed, begin := false, time.Now() // subscribed: the connection also counts as useful
			err := m.Subscribe(ctx, "channel", func() error { subscribed = m.door.useless == 0; return nil }, func(string) {})
			if took := time.Since(begin); err == nil || subscribed != x.subscribed || took != x.ends {
				t.Errorf("%q is lost: subscribed %t, and ended after %v (%v), want %t and %v", x.lost, subscribed, took, err, x.subscribed, x.ends)
			}
		})
	}
}

// A subscription ends after Reconnect, because the address may lead to another server.
func TestSubscriptionEndsOnReconnect(t *testing.T) {
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
