package masterurl_test

import (
	"testing"

	"github.com/redlock-go/redlock/internal/masterurl"
)

func TestServer(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"127.0.0.1:6379", "localhost:6379", "LOCALHOST:6379", "localhost.:6379", "[::1]:6379", "[::ffff:127.0.0.1]:6379"},
		{"Redis1.example.com:6379", "redis1.example.com.:6379"},
		{"[2001:db8::1]:6379", "[2001:DB8:0:0::1]:6379"},
		{"/run/redis.sock", "/run//redis.sock", "/run/redis/../redis.sock"},
	} {
		for _, address := range same {
			if got, want := masterurl.Server(address), masterurl.Server(same[0]); got != want {
				t.Errorf("Server(%q) = %q, but %q of %q", address, got, want, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, address := range []string{"127.0.0.1:6379", "127.0.0.1:6380", "127.0.0.2:6379", "10.0.0.1:6379", "a:6379", "b:6379", "[fe80::1%eth0]:6379", "[fe80::1%eth1]:6379", "/run/a", "/run/b"} {
		server := masterurl.Server(address)
		if other, twice := seen[server]; twice {
			t.Errorf("%s and %s may be two servers", address, other)
		}
		seen[server] = address
	}
}
