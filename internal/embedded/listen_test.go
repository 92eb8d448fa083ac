package embedded

import (
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	a, b := New(), New()
	defer a.Close()
	defer b.Close()
	if a.Addr() == b.Addr() || a.Addr() != a.Options().Addr {
		t.Errorf("addresses %q and %q", a.Addr(), b.Addr())
	}
}

func TestListening(t *testing.T) {
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

// Everything at once: the test is for the race detector, and for hangs.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := New()
	defer s.Close()
	c := client(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				_ = c.Incr(t.Context(), "n") // works or not, as the others decide
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
