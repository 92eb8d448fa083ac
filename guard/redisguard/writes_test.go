package redisguard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/redisguard"
)

func TestGuardedWrites(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	stale := func(err error) {
		t.Helper()
		if !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v, want fence.ErrStale", err)
		}
	}
	must(t, guard.Claim(ctx, "user:42", 34))
	must(t, guard.Set(ctx, "user:42", 34, "user:42", []byte("Ada"), time.Hour))
	if ttl, err := client.TTL(ctx, "user:42").Result(); err != nil || ttl <= 0 || ttl > time.Hour {
		t.Errorf("ttl = %v, %v, want an hour", ttl, err)
	}
	must(t, guard.Set(ctx, "user:42", 34, "user:42", 17, 0))
	must(t, guard.HSet(ctx, "user:42", 34, "{user:42}:cart", "apples", 3, "pears", "4"))
	must(t, guard.HSet(ctx, "user:42", 34, "{user:42}:cart", "pears", 5))
	stale(guard.Set(ctx, "user:42", 33, "user:42", "late", 0))
	stale(guard.HSet(ctx, "user:42", 33, "{user:42}:cart", "apples", 99))
	stale(guard.Del(ctx, "user:42", 33, "user:42", "{user:42}:cart"))

	if value, err := client.Get(ctx, "user:42").Result(); err != nil || value != "17" {
		t.Errorf("string is %q, %v, want 17", value, err)
	}
	if ttl, err := client.TTL(ctx, "user:42").Result(); err != nil || ttl != -1 {
		t.Errorf("ttl = %v, %v, want none: Set without one takes an older one away", ttl, err)
	}
	cart, err := client.HGetAll(ctx, "{user:42}:cart").Result()
	if want := map[string]string{"apples": "3", "pears": "5"}; err != nil || !maps.Equal(cart, want) {
		t.Errorf("hash is %v, %v, want %v", cart, err, want)
	}

	must(t, guard.Del(ctx, "user:42", 34, "user:42", "{user:42}:cart", "{user:42}:none"))
	if n, err := client.DBSize(ctx).Result(); err != nil || n != 1 {
		t.Errorf("%d keys are left, %v, want the fence alone", n, err)
	}
}

// Lua cannot unpack an argument list of this length.
func TestHSetManyFields(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	var fields []any
	for i := range 20_000 {
		fields = append(fields, fmt.Sprint(i), i)
	}
	must(t, newGuard(t, client).HSet(t.Context(), "user:42", 34, "user:42", fields...))
	if n, err := client.HLen(t.Context(), "user:42").Result(); err != nil || n != 20_000 {
		t.Errorf("hash has %d fields, %v, want 20000", n, err)
	}
}

func TestRunPassesKeysArgsAndReply(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, startRedis(t))
	ctx := t.Context()
	echo := redisguard.NewScript(`return {#KEYS, KEYS[1], KEYS[2], #ARGV, ARGV[1], ARGV[2]}`)
	got, err := guard.Run(ctx, "user:42", 34, echo, []string{"user:42", "{user:42}:cart"}, "a", 7).Slice()
	if want := "[2 user:42 {user:42}:cart 2 a 7]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("script saw %v, %v, want %s", got, err, want)
	}
	increment := redisguard.NewScript(`return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	if n, err := guard.Run(ctx, "user:42", 34, increment, []string{"user:42"}, 5).Int(); err != nil || n != 5 {
		t.Errorf("reply = %d, %v, want 5", n, err)
	}
	nothing := redisguard.NewScript(`return nil`)
	if err := guard.Run(ctx, "user:42", 34, nothing, nil).Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("nil reply = %v, want redis.Nil", err)
	}
}

func TestTokensAbove63Bits(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, startRedis(t))
	must(t, guard.Claim(t.Context(), "user:42", math.MaxUint64))
	var stale *fence.StaleError
	if err := guard.Claim(t.Context(), "user:42", math.MaxUint64-1); !errors.As(err, &stale) || stale.Highest != math.MaxUint64 {
		t.Errorf("claim one below = %v, want a *fence.StaleError with the highest token", err)
	}
}

func TestWritesBadInput(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	for what, err := range map[string]error{
		"ttl below 0":        guard.Set(ctx, "r", 1, "r", "v", -time.Second),
		"ttl below 1ms":      guard.Set(ctx, "r", 1, "r", "v", time.Microsecond),
		"empty key":          guard.Set(ctx, "r", 1, "", "v", 0),
		"no fields":          guard.HSet(ctx, "r", 1, "r"),
		"odd fields":         guard.HSet(ctx, "r", 1, "r", "field"),
		"no keys":            guard.Del(ctx, "r", 1),
		"fence as key":       guard.Del(ctx, "r", 1, "{r}:fence"),
		"another's fence":    guard.Set(ctx, "r", 1, "{pay}:fence", 1, 0),
		"another's as hash":  guard.HSet(ctx, "r", 1, "{pay}:fence", "field", 1),
		"another's, deleted": guard.Del(ctx, "r", 1, "r", "{pay}:fence"),
		"another's in Run":   guard.Run(ctx, "r", 1, redisguard.NewScript("return redis.call('SET', KEYS[1], 1)"), []string{"{pay}:fence"}).Err(),
		"no script":          guard.Run(ctx, "r", 1, nil, nil).Err(),
		"brace in resource":  guard.Claim(ctx, "{r", 1),
		"braces in resource": guard.Claim(ctx, "{r}", 1),
	} {
		if !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: got %v, want fence.ErrInvalid", what, err)
		}
	}
	if n, err := client.DBSize(ctx).Result(); err != nil || n != 0 {
		t.Errorf("%d keys are there, %v, want none: refused input reached the server", n, err)
	}
}

func TestNilContextPanics(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	defer func() {
		if got := recover(); got != "redisguard: nil context" {
			t.Errorf("the panic is %v", got)
		}
	}()
	var none context.Context
	_ = guard.Set(none, "r", 34, "r", "v", 0)
}

func TestKeyLikeFenceIsData(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	for _, key := range []string{"fence", ":fence", "r:fence", "{}:fence", "{r}:fences", "x{r}:fence", "{r}:x:fence", "{a}{r}:fence"} {
		if err := guard.Set(t.Context(), "r", 1, key, "v", 0); err != nil {
			t.Errorf("Set of %q: %v", key, err)
		}
	}
}
