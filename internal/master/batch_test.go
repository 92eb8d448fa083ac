package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/script"
)

// cutConn breaks after some bytes to the server, or after some bytes from the server.
type cutConn struct {
	net.Conn
	writes, reads *int // how many bytes are left; negative: no limit
	broke         *bool
}

var errCut = errors.New("cut")

func (c cutConn) Write(b []byte) (int, error) {
	if *c.writes < 0 || len(b) <= *c.writes {
		*c.writes -= min(len(b), max(0, *c.writes))
		return c.Conn.Write(b)
	}
	n, _ := c.Conn.Write(b[:*c.writes])
	*c.broke = true
	_ = c.Close()
	return n, errCut
}

func (c cutConn) Read(b []byte) (int, error) {
	if *c.reads == 0 {
		*c.broke = true
		_ = c.Close()
		return 0, errCut
	}
	if *c.reads > 0 && len(b) > *c.reads {
		b = b[:*c.reads]
	}
	n, err := c.Conn.Read(b)
	if *c.reads > 0 {
		*c.reads -= n
	}
	return n, err
}

// If a connection is cut at any byte of a batch or of its reply, the answer to each operation is unknown. If the
// batch is sent again on a new connection, each operation gets its answer.
func TestCutBatchIsUnknown(t *testing.T) {
	t.Parallel()
	for _, resend := range []bool{false, true} {
		for _, reply := range []bool{false, true} {
			t.Run(fmt.Sprintf("reply=%v resend=%v", reply, resend), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { cutBatches(t, reply, resend) })
			})
		}
	}
}

func cutBatches(t *testing.T, reply, resend bool) {
	epoch := time.Now()
	server := embedded.New()
	defer server.Close()
	raw := redis.NewClient(server.Options())
	defer func() { _ = raw.Close() }()
	const never = -1
	cut := new(int) // how many bytes are left on the connection in use
	*cut = never
	broke := false
	o := server.Options()
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if broke {
			*cut = never // the batch is sent again on a whole connection
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		whole := -1
		if reply {
			return cutConn{conn, &whole, cut, &broke}, nil
		}
		return cutConn{conn, cut, &whole, &broke}, nil
	}
	m := New(Config{
		Name: "embedded", Endpoint: NewEndpoint(o, time.Second), Register: "register", SideTimeout: time.Second, Gate: openGate{},
		Now: func() clock.Instant { return clock.Instant(time.Since(epoch)) },
		Up:  func() {}, Down: func(error) {},
	})
	m.door.paces = false // the test breaks one connection after the other
	defer func() { _ = m.Redis.Close() }()
	makeMember(t, raw, m.Register, "1")
	for at := 0; ; at++ {
		answers := make([]script.Vote, 2)
		var batch []*Request
		for i := range answers {
			owner := fmt.Sprintf("%d-%d", at, i)
			k := script.KeysOf("redlock", "job-"+owner, owner)
			if err := raw.Set(context.Background(), k.Fence, int64(1_000_000_000_000), 0).Err(); err != nil {
				t.Fatal(err)
			}
			acquire := script.Acquire.Call(&k, &owner, 30_000, 0)
			batch = append(batch, &Request{Call: acquire, Version: "1", To: answerInto{&answers[i]}})
		}
		l := &link{master: m, inFlight: true}
		if err := l.greet(); err != nil {
			t.Fatal(err)
		}
		l.served = resend
		*cut, broke = at, false
		time.Sleep(time.Millisecond)
		answered := m.health.answered.Load()
		l.serve(batch)
		*cut = never
		if l.conn != nil {
			l.hangUp()
		}
		granted := 0
		for i, v := range answers {
			switch {
			case v.Answer == script.Granted && v.MayArrive != (resend && broke):
				t.Fatalf("cut at %d: operation %d is granted, in doubt: %v", at, i, v.MayArrive)
			case v.Answer == script.Granted:
				granted++
			case v.Answer != script.Unknown || resend || !v.MayArrive:
				t.Fatalf("cut at %d: operation %d is %v, in doubt %v: %v", at, i, v.Answer, v.MayArrive, v.Err)
			}
		}
		if granted != 0 && granted != len(answers) {
			t.Fatalf("cut at %d: %d of %d operations have an answer", at, granted, len(answers))
		}
		if granted == 0 && m.health.answered.Load() != answered {
			t.Fatalf("cut at %d: the batch is taken for answered", at)
		}
		if !broke && granted == len(answers) {
			if at < 20 {
				t.Fatalf("nothing was cut")
			}
			return // the batch has fewer bytes
		}
	}
}

type answerInto struct{ v *script.Vote }

func (a answerInto) MaySend(int) bool            { return true }
func (a answerInto) Answer(_ int, v script.Vote) { *a.v = v }
