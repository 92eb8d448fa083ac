package redisguard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/guardtest"
	"github.com/redlock-go/redlock/guard/redisguard"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	guardtest.Run(t, newCells(t, startRedis(t)))
}

func TestConformanceOnCluster(t *testing.T) {
	t.Parallel()
	guardtest.Run(t, newCells(t, startCluster(t)))
}

// cells keeps one string for each resource, at the key of the same name.
type cells struct {
	*redisguard.Guard
	client redis.UniversalClient
}

func newCells(t *testing.T, client redis.UniversalClient) cells {
	return cells{newGuard(t, client), client}
}

func (c cells) Write(ctx context.Context, resource string, token fence.Token, value string) error {
	return c.Set(ctx, resource, token, resource, value, 0)
}

var failing = redisguard.NewScript(`return redis.error_reply('ERR the write failed')`)

func (c cells) Fail(ctx context.Context, resource string, token fence.Token, _ string) error {
	return c.Run(ctx, resource, token, failing, []string{resource}).Err()
}

func (c cells) Read(ctx context.Context, resource string) (string, error) {
	value, err := c.client.Get(ctx, resource).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

func newGuard(t *testing.T, client redis.UniversalClient) *redisguard.Guard {
	t.Helper()
	guard, err := redisguard.New(client)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	for _, client := range []redis.UniversalClient{nil, (*redis.Client)(nil), ring} {
		if guard, err := redisguard.New(client); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("New(%T) = %v, %v, want fence.ErrInvalid", client, guard, err)
		}
	}
}

func TestFenceKey(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	if err := guard.Set(ctx, "user:42", 1<<53+1, "user:42", "Ada", time.Minute); err != nil {
		t.Fatal(err)
	}
	if value, err := client.Get(ctx, "{user:42}:fence").Result(); err != nil || value != "9007199254740993" {
		t.Errorf("fence key holds %q, %v, want the token in decimal", value, err)
	}
	if ttl, err := client.TTL(ctx, "{user:42}:fence").Result(); err != nil || ttl != -1 {
		t.Errorf("ttl of the fence = %v, %v, want none", ttl, err)
	}
	if ttl, err := client.TTL(ctx, "user:42").Result(); err != nil || ttl <= 0 || ttl > time.Minute {
		t.Errorf("ttl of the data = %v, %v, want a minute", ttl, err)
	}
}

func TestKeyOfCheckLockName(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	if err := fence.CheckLockName(t.Context(), newGuard(t, client), "user:42", "hot"); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Exists(t.Context(), "{redlock/lockname/user:42}:fence").Result(); err != nil || n != 1 {
		t.Errorf("Exists = %d, %v: the note is not at the key that the documentation has", n, err)
	}
}

func TestForeignFenceValueIsAnError(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	for _, foreign := range []string{"", "0", "-1", "07", "nine", "1e3", "34 "} {
		if err := client.Set(ctx, "{user:42}:fence", foreign, 0).Err(); err != nil {
			t.Fatal(err)
		}
		err := guard.Set(ctx, "user:42", 33, "user:42", "Ada", 0)
		if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "{user:42}:fence") {
			t.Errorf("Set with %q at the fence key = %v, want an error that names the key", foreign, err)
		}
	}
	if n, err := client.Exists(ctx, "user:42").Result(); err != nil || n != 0 {
		t.Errorf("Exists = %d, %v: something was written", n, err)
	}
}

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	store := newCells(t, client)
	ctx := t.Context()
	for _, value := range []string{"1", "2"} {
		if err := store.Write(ctx, "user:42", 34, value); err != nil {
			t.Fatal(err)
		}
		if err := client.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if err := store.Write(ctx, "user:42", 33, "late"); !errors.Is(err, fence.ErrStale) {
			t.Errorf("stale write after SCRIPT FLUSH = %v, want fence.ErrStale", err)
		}
		if got, err := store.Read(ctx, "user:42"); err != nil || got != value {
			t.Errorf("value = %q, %v, want %q", got, err, value)
		}
	}
}

// What the package says of lost fences is a fact that users plan with.
func TestLostFenceRefusesNobody(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	if err := guard.Claim(ctx, "user:42", 34); err != nil {
		t.Fatal(err)
	}
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := guard.Claim(ctx, "user:42", 33); err != nil {
		t.Errorf("claim after FLUSHALL: %v", err)
	}
	if err := guard.Claim(ctx, "user:42", 32); !errors.Is(err, fence.ErrStale) {
		t.Errorf("older claim after that = %v, want fence.ErrStale", err)
	}
}

func TestClusterRefusesKeysOfOtherSlots(t *testing.T) {
	t.Parallel()
	client := startCluster(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	err := guard.Set(ctx, "user:42", 34, "cart:42", "apples", 0)
	if err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT") {
		t.Errorf("Set of a key in another slot = %v, want CROSSSLOT", err)
	}
	if err := guard.Claim(ctx, "user:42", 1); err != nil {
		t.Errorf("claim after that: %v: the refused script raised the fence", err)
	}
	if err := guard.Del(ctx, "user:42", 34, "user:42", "{user:42}:cart", "{user:42}:mail"); err != nil {
		t.Errorf("Del of keys with the resource as their hash tag: %v", err)
	}
}
