package redisguard_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/guard/guardtest"
	"github.com/redlock-go/redlock/guard/redisguard"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// startRedis starts a Redis server of the test's own, and returns a client for it.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	return connect(t, startServer(t, nil))
}

// startCluster starts a Redis Cluster of one server, which has all slots.
func startCluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	bus, err := net.Listen("tcp", "127.0.0.1:0") // otherwise the cluster bus would use the server's port plus 10000
	must(t, err)
	port := bus.Addr().(*net.TCPAddr).Port
	must(t, bus.Close())
	address := startServer(t, map[string]string{"cluster-enabled": "yes", "cluster-port": strconv.Itoa(port)})
	must(t, connect(t, address).ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})
	t.Cleanup(func() { _ = client.Close() })
	for deadline := time.Now().Add(30 * time.Second); client.Set(t.Context(), "ready", 1, 0).Err() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cluster is not ready")
		}
	}
	return client
}

func startServer(t *testing.T, conf map[string]string) (address string) {
	t.Helper()
	server, err := redisproc.Start(redisproc.Config{Conf: conf})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	return server.Addr()
}

func connect(t *testing.T, address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
	must(t, err)
	return guard
}

func TestNewErrors(t *testing.T) {
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
	must(t, guard.Set(ctx, "user:42", 1<<53+1, "user:42", "Ada", time.Minute))
	if value, err := client.Get(ctx, "{user:42}:fence").Result(); err != nil || value != "9007199254740993" {
		t.Errorf("fence key holds %q, %v, want the token in decimal", value, err)
	}
	if ttl, err := client.TTL(ctx, "{user:42}:fence").Result(); err != nil || ttl != -1 {
		t.Errorf("ttl of the fence = %v, %v, want none", ttl, err)
	}
	must(t, fence.CheckLockName(ctx, guard, "user:42", "hot"))
	if n, err := client.Exists(ctx, "{redlock/lockname/user:42}:fence").Result(); err != nil || n != 1 {
		t.Errorf("Exists = %d, %v: the note is not at the key that the documentation has", n, err)
	}
}

func TestForeignFenceValue(t *testing.T) {
	t.Parallel()
	client := startRedis(t)
	guard := newGuard(t, client)
	ctx := t.Context()
	for _, foreign := range []string{"", "0", "-1", "07", "nine", "1e3", "34 "} {
		must(t, client.Set(ctx, "{user:42}:fence", foreign, 0).Err())
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
	must(t, store.Write(ctx, "user:42", 34, "new"))
	must(t, client.ScriptFlush(ctx).Err())
	if err := store.Write(ctx, "user:42", 33, "late"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale write after SCRIPT FLUSH = %v, want fence.ErrStale", err)
	}
	if got, err := store.Read(ctx, "user:42"); err != nil || got != "new" {
		t.Errorf("value = %q, %v, want new", got, err)
	}
}

func TestClusterCrossSlotKeys(t *testing.T) {
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
