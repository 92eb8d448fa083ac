package embedded

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Listen("front")
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := l.Accept()
			check(t, err)
			accepted <- conn
		}()
		client, err := l.Dial(context.Background())
		check(t, err)
		server := <-accepted

		// Bytes sent before CloseWrite arrive, and the other direction stays open.
		_, err = client.Write([]byte("ask"))
		check(t, err)
		check(t, client.(*end).CloseWrite())
		if got, err := io.ReadAll(server); string(got) != "ask" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		_, err = server.Write([]byte("answer"))
		check(t, err)

		// A reset drops unread bytes.
		check(t, server.(*end).SetLinger(0))
		check(t, server.Close())
		if got, err := io.ReadAll(client); len(got) > 0 || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %q, %v; want a reset", got, err)
		}

		check(t, l.Close())
		check(t, l.Close())
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted: %v", err)
		}
		if _, err := l.Dial(context.Background()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialed: %v", err)
		}
	})
}

func TestAddrIsUnique(t *testing.T) {
	t.Parallel()
	a, b := New(), New()
	defer a.Close()
	defer b.Close()
	if a.Addr() == b.Addr() || a.Addr() != a.Options().Addr {
		t.Errorf("addresses %q and %q", a.Addr(), b.Addr())
	}
}

func TestNewListening(t *testing.T) {
	t.Parallel()
	s, err := NewListening("127.0.0.1:0")
	check(t, err)
	defer s.Close()
	overTCP := func() *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1, Protocol: 2})
		t.Cleanup(func() { check(t, c.Close()) })
		return c
	}

	ctx := t.Context()
	want(t, overTCP().Do(ctx, "SET", "k", "v"), "OK")
	want(t, client(t, s).Do(ctx, "GET", "k"), "v")
	addr := s.Addr()
	s.Kill(false)
	if err := overTCP().Ping(ctx).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("TCP to a dead master: %v", err)
	}
	check(t, s.Restart())
	want(t, overTCP().Do(ctx, "GET", "k"), "v")
	if s.Addr() != addr {
		t.Errorf("address was %s, is %s", addr, s.Addr())
	}

	if other, err := NewListening(addr); err == nil {
		other.Close()
		t.Error("two masters listen on one address")
	}
}

// The race detector watches this test, which also finds hangs.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := New()
	defer s.Close()
	c := client(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				_ = c.Incr(t.Context(), "n") // may fail because of the other goroutines
			}
		})
		wg.Go(func() {
			for range 20 {
				s.Kill(true)
				if err := s.Restart(); err != nil {
					t.Error(err)
				}
				s.Pause()
				s.FlushAll()
				s.Running()
				s.Resume()
			}
		})
	}
	wg.Wait()
	s.Resume()
	want(t, client(t, s).Do(t.Context(), "PING"), "PONG")
}

func TestPipeDeliversBeforeClose(t *testing.T) {
	t.Parallel()
	client, server := newPipe("m")
	for _, text := range []string{"one ", "two"} {
		_, err := client.Write([]byte(text)) // must not block, although nobody reads
		check(t, err)
	}
	check(t, client.Close())
	got, err := io.ReadAll(server)
	if string(got) != "one two" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}

	if n, err := server.Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("write to a closed peer: %d, %v", n, err)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

func TestPipeDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe("m")
		begin := time.Now()
		read := func() (time.Duration, error) {
			_, err := client.Read(make([]byte, 1))
			return time.Since(begin), err
		}

		check(t, client.SetDeadline(begin.Add(time.Second)))
		after, err := read()
		if after != time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read ended after %s with %v", after, err)
		}
		var netErr net.Error
		if !errors.As(err, &netErr) || !netErr.Timeout() {
			t.Errorf("%v is no timeout for net.Error", err)
		}

		// A deadline that changes, or a peer that closes, affects a read that already waits.
		check(t, client.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Second)
			_ = client.SetReadDeadline(time.Now().Add(time.Second))
		}()
		if after, err := read(); after != 3*time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read whose deadline was moved ended after %s with %v", after, err)
		}
		check(t, client.SetReadDeadline(time.Time{}))
		go func() {
			time.Sleep(time.Second)
			_ = server.Close()
		}()
		if after, err := read(); after != 4*time.Second || !errors.Is(err, io.EOF) {
			t.Errorf("a read whose peer closed ended after %s with %v", after, err)
		}
	})
}
