package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	lua "github.com/yuin/gopher-lua"
)

// bubble runs a test in virtual time against a new master and a client of it.
func bubble(t *testing.T, test func(t *testing.T, s *Server, c *redis.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New()
		t.Cleanup(s.Close)
		test(t, s, client(t, s))
	})
}

func client(t *testing.T, s *Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { check(t, c.Close()) })
	return c
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want compares the reply to a command as text.
func want(t *testing.T, cmd *redis.Cmd, reply string) {
	t.Helper()
	got, err := cmd.Text()
	if n, intErr := cmd.Int64(); intErr == nil {
		got, err = fmt.Sprint(n), nil
	}
	if errors.Is(err, redis.Nil) {
		got, err = "(nil)", nil
	}
	if err != nil || got != reply {
		t.Errorf("%v: got %q, %v; want %q", cmd.Args(), got, err, reply)
	}
}

func info(t *testing.T, c *redis.Client, field string) string {
	t.Helper()
	text, err := c.Info(t.Context()).Result()
	check(t, err)
	found := regexp.MustCompile(`(?m)^` + field + `:(.*)\r$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("INFO has no %s:\n%s", field, text)
	}
	return found[1]
}

func TestKeysExpireInVirtualTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		want(t, c.Do(ctx, "SET", "lock", "me", "NX", "PX", 10_000), "OK")
		time.Sleep(9_999 * time.Millisecond)
		want(t, c.Do(ctx, "PTTL", "lock"), "1")
		want(t, c.Do(ctx, "GET", "lock"), "me")
		time.Sleep(time.Millisecond)
		want(t, c.Do(ctx, "PTTL", "lock"), "0") // in Redis a key still exists in its last millisecond
		want(t, c.Do(ctx, "GET", "lock"), "me")
		time.Sleep(time.Millisecond)
		want(t, c.Do(ctx, "GET", "lock"), "(nil)")
		time.Sleep(365 * 24 * time.Hour)
		want(t, c.Do(ctx, "SET", "lock", "you", "NX", "PX", 10_000), "OK")
	})
}

// A script is atomic: a pause or a kill that comes while it runs must not stop its calls.
func TestScriptRunsThroughPauseAndKill(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		r := s.current()
		s.engine.globals.RawSetString("interrupt", s.engine.state.NewFunction(func(*lua.LState) int {
			s.Pause()
			go s.Kill(false)
			<-r.gate.shut
			return 0
		}))
		const script = `redis.call('INCR', 'a') interrupt() redis.call('SET', 'b', 1)`
		if err := c.Eval(t.Context(), script, nil).Err(); err == nil {
			t.Error("EVAL was answered by a master that was killed meanwhile")
		}
		check(t, s.Restart())
		want(t, client(t, s).Do(t.Context(), "EXISTS", "a", "b"), "2")
	})
}

func TestKillAndRestart(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		want(t, c.Do(ctx, "SET", "lock", "me", "PX", 10_000), "OK")
		ends := time.Now().Add(10 * time.Second)
		want(t, c.Do(ctx, "SET", "k", "v"), "OK")
		first := info(t, c, "run_id")
		time.Sleep(2 * time.Second)
		if up := info(t, c, "uptime_in_seconds"); up != "2" {
			t.Errorf("uptime %s after 2 s", up)
		}

		s.Kill(false)
		s.Kill(false)
		if s.Running() {
			t.Error("running after Kill")
		}
		if err := c.Ping(ctx).Err(); !errors.Is(err, io.EOF) {
			t.Errorf("a connection that was open: %v, want EOF", err)
		}
		var opErr *net.OpError
		if err := c.Ping(ctx).Err(); !errors.As(err, &opErr) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a new connection: %v, want ECONNREFUSED", err)
		}
		for range 100 { // after poolSize refusals, go-redis would refuse all dials
			_ = c.Ping(ctx)
		}
		time.Sleep(3 * time.Second)
		check(t, s.Restart())
		check(t, s.Restart())
		want(t, c.Do(ctx, "PTTL", "lock"), fmt.Sprint(time.Until(ends).Round(time.Millisecond).Milliseconds()))
		want(t, c.Do(ctx, "GET", "k"), "v")
		second := info(t, c, "run_id")
		if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(second) || first == second {
			t.Errorf("run_id was %s, is %s", first, second)
		}
		if up := info(t, c, "uptime_in_seconds"); up != "0" {
			t.Errorf("uptime %s after a restart", up)
		}

		s.Kill(true)
		check(t, s.Restart())
		want(t, client(t, s).Do(ctx, "DBSIZE"), "0")
	})
}

func TestPausedMasterServesAfterResume(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		want(t, c.Do(ctx, "SET", "k", "old"), "OK")
		s.Pause()
		s.Pause()
		if !s.Running() {
			t.Error("a paused master counts as running")
		}
		for _, args := range [][]any{{"SET", "k", "late"}, {"INFO"}} {
			if err := c.Do(within(t, time.Second), args...).Err(); !errors.Is(err, os.ErrDeadlineExceeded) &&
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v on a paused master: %v", args, err)
			}
		}
		if got := s.Snapshot()["k"].value; got != "old" {
			t.Errorf("a paused master has set k to %q", got)
		}

		// These requests are queued on one connection. go-redis has given up the connections of the requests above.
		var wg sync.WaitGroup
		wg.Go(func() {
			cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for range 3 {
					p.Incr(ctx, "n")
				}
				return nil
			})
			for i, cmd := range cmds {
				if n := cmd.(*redis.IntCmd).Val(); err != nil || n != int64(i+1) {
					t.Errorf("request %d from the pause: %d, %v", i+1, n, err)
				}
			}
		})
		time.Sleep(time.Second)
		s.Resume()
		s.Resume()
		wg.Wait()
		synctest.Wait()
		want(t, c.Do(ctx, "GET", "k"), "late") // although the client of this request was gone
	})
}

func TestKillWhilePausedDropsRequests(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		want(t, c.Do(t.Context(), "SET", "k", "old"), "OK")
		s.Pause()
		for range 3 {
			if err := c.Do(within(t, time.Second), "SET", "k", "late").Err(); err == nil {
				t.Error("a paused master answered")
			}
		}
		s.Kill(false)
		check(t, s.Restart())
		synctest.Wait()
		want(t, client(t, s).Do(t.Context(), "GET", "k"), "old")
	})
}

func TestSlowSubscriberBlocksNobody(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		conn, err := s.Dialer()(t.Context(), "", "")
		check(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte("*2\r\n$9\r\nSUBSCRIBE\r\n$2\r\nch\r\n"))
		check(t, err)
		synctest.Wait()
		for range 10 {
			want(t, c.Do(within(t, time.Second), "PUBLISH", "ch", "hello"), "1")
		}
		synctest.Wait()
		got := make([]byte, 4096)
		n, err := conn.Read(got)
		if text := string(got[:n]); err != nil || strings.Count(text, "hello") != 10 {
			t.Errorf("the subscriber got %q, %v", text, err)
		}
	})
}

func TestRestartAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		s.Close()
		s.Close()
		if err := s.Restart(); !errors.Is(err, ErrClosed) {
			t.Errorf("Restart after Close: %v", err)
		}
		if err := c.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("PING after Close: %v", err)
		}
	})
}
