package redisguard_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a Redis server of the test's own, on a socket in a folder of its own, and
// returns a client for it. Both end with the test.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	// Not t.TempDir, whose paths have the test's name: a socket's path may not exceed some hundred
	// bytes.
	dir, err := os.MkdirTemp("", "redisguard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis.sock")
	run(t, dir, "--port", "0", "--unixsocket", socket)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	t.Cleanup(func() { _ = client.Close() })
	await(t, func(ctx context.Context) error { return client.Ping(ctx).Err() })
	return client
}

// startCluster starts a Redis Cluster of one server, which has all slots and checks keys as any
// cluster does.
func startCluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	// The bus uses a port of its own. Both are free when they are chosen; if another process takes
	// one before the server does, the test fails.
	port, bus := freePort(t), freePort(t)
	run(t, t.TempDir(), "--port", port, "--cluster-port", bus, "--cluster-enabled", "yes")
	address := net.JoinHostPort("127.0.0.1", port)

	node := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = node.Close() }()
	await(t, func(ctx context.Context) error { return node.Ping(ctx).Err() })
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})
	t.Cleanup(func() { _ = client.Close() })
	await(t, func(ctx context.Context) error { return client.Set(ctx, "ready", 1, 0).Err() })
	return client
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no redis-server in a CI run: %v", err)
		}
		t.Skip("NOT TESTED: redisguard against a real Redis, since redis-server is not installed")
	}
	server := exec.Command(binary, append(args, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no")...)
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = output, output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = output.Close()
		if t.Failed() {
			log, _ := os.ReadFile(output.Name())
			t.Logf("output of redis-server:\n%s", log)
		}
	})
}

// await polls, as a server that starts has no other way to say that it is up.
func await(t *testing.T, ready func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("redis-server is not ready: %w", err))
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
