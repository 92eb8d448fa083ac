package faultproxy

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// A real master and a real client, with both protocols: what they say to each other must pass
// unharmed, and a fault must hit the request that was meant.
func TestRealRedis(t *testing.T) {
	t.Parallel()
	s, err := redisproc.Start(redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	check(t, err)
	t.Cleanup(func() { check(t, s.Stop()) })

	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := New(s.Addr())
			check(t, err)
			defer p.Close()
			opts, err := redis.ParseURL(p.URL())
			check(t, err)
			opts.Protocol = protocol
			opts.MaxRetries = -1
			opts.ContextTimeoutEnabled = true
			c := redis.NewClient(opts)
			defer c.Close()

			repliesPass(t, c, name)
			lateRequestIsExecuted(t, p, c, name)
		})
	}
}

func repliesPass(t *testing.T, c *redis.Client, key string) {
	ctx := t.Context()
	check(t, c.HSet(ctx, key+":h", "f", "1", "g", "2").Err())
	if m, err := c.HGetAll(ctx, key+":h").Result(); err != nil || len(m) != 2 || m["g"] != "2" {
		t.Errorf("HGETALL: %v, %v", m, err)
	}
	if d, err := c.ZAdd(ctx, key+":z", redis.Z{Score: 1.5, Member: "m"}).Result(); err != nil || d != 1 {
		t.Errorf("ZADD: %d, %v", d, err)
	}
	if f, err := c.ZScore(ctx, key+":z", "m").Result(); err != nil || f != 1.5 {
		t.Errorf("ZSCORE: %f, %v", f, err)
	}
	if err := c.Get(ctx, key+":none").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("GET of nothing: %v", err)
	}
	v, err := c.Eval(ctx, "return {1, {'a', false}, redis.call('TIME')}", nil).Slice()
	if err != nil || len(v) != 3 || len(v[1].([]any)) != 2 {
		t.Errorf("EVAL: %v, %v", v, err)
	}
	cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for range 50 {
			p.Incr(ctx, key+":n")
		}
		return nil
	})
	if err != nil || cmds[49].(*redis.IntCmd).Val() != 50 {
		t.Errorf("MULTI: %v, %v", cmds, err)
	}
}

// The client has given up its SET, and taken it back with a DEL, when the SET comes to the master.
func lateRequestIsExecuted(t *testing.T, p *Proxy, c *redis.Client, key string) {
	f := p.Add(Rule{On: Match("set", key+":lock"), Nth: 1, Do: HoldRequest})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Set(ctx, key+":lock", "ghost", time.Minute).Err(); err == nil {
		t.Error("a SET that is held was answered")
	}
	if n, err := c.Del(t.Context(), key+":lock").Result(); n != 0 || err != nil {
		t.Errorf("DEL: %d, %v", n, err)
	}
	f.Release()
	closed(t, "the late SET", f.Answered())
	if v, err := c.Get(t.Context(), key+":lock").Result(); v != "ghost" || err != nil {
		t.Errorf("after the late SET: %q, %v", v, err)
	}
}
