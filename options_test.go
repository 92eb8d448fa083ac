package redlock_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/masterurl"
)

func idleClient(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr}) }

func TestNewErrors(t *testing.T) {
	t.Parallel()
	a, b := idleClient("127.0.0.1:1"), idleClient("127.0.0.1:2")
	defer a.Close()
	defer b.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	var shared []redis.UniversalClient // clients whose pools are too small
	for _, o := range []redis.FailoverOptions{{PoolSize: 1}, {MaxActiveConns: 1}} {
		o.SentinelAddrs = []string{"127.0.0.1:1"}
		f := redis.NewFailoverClient(&o)
		defer f.Close()
		shared = append(shared, f)
	}
	ok := []redis.UniversalClient{a}
	for _, c := range []struct {
		masters []redis.UniversalClient
		opts    []redlock.Option
		field   string
	}{
		{nil, nil, "number of masters"},
		{make([]redis.UniversalClient, 32), nil, "number of masters"},
		{[]redis.UniversalClient{a, nil}, nil, "masters[1]"},
		{[]redis.UniversalClient{a, (*redis.Client)(nil)}, nil, "masters[1]"},
		{[]redis.UniversalClient{a, b, a}, nil, "masters[2]"},
		{[]redis.UniversalClient{a, cluster}, nil, "masters[1]"},
		{[]redis.UniversalClient{ring}, nil, "masters[0]"},
		{shared[:1], nil, "masters[0]"},
		{append(ok, shared[1]), nil, "masters[1]"},
		{ok, []redlock.Option{nil}, "options[0]"},
		{ok, []redlock.Option{redlock.WithTTL(0)}, "ttl"},
		{ok, []redlock.Option{redlock.WithTTL(49 * time.Millisecond), redlock.WithRequestTimeout(time.Millisecond)}, "ttl"},
		{ok, []redlock.Option{redlock.WithTTL(time.Hour)}, "ttl"},
		{ok, []redlock.Option{redlock.WithTTL(time.Minute), redlock.WithLockDelay(time.Second)}, "ttl"},
		{ok, []redlock.Option{redlock.WithTTL(math.MaxInt64), redlock.WithMaxTTL(redlock.MaxDuration), redlock.WithLockDelay(math.MaxInt64)}, "ttl"},
		{ok, []redlock.Option{redlock.WithMaxTTL(math.MaxInt64)}, "max ttl"}, // the quarantine would overflow, and so be over at once
		{ok, []redlock.Option{redlock.WithMaxHold(math.MaxInt64)}, "max hold"},
		{ok, []redlock.Option{redlock.WithRequestTimeout(0)}, "request timeout"},
		{ok, []redlock.Option{redlock.WithDrift(1)}, "drift"},
		{ok, []redlock.Option{redlock.WithDrift(-0.1)}, "drift"},
		{ok, []redlock.Option{redlock.WithDrift(math.NaN())}, "drift"},
		{ok, []redlock.Option{redlock.WithMaxTTL(0)}, "max ttl"},
		{ok, []redlock.Option{redlock.WithPrefix("")}, "prefix"},
		{ok, []redlock.Option{redlock.WithPrefix("a{b")}, "prefix"},
	} {
		client, err := redlock.New(c.masters, c.opts...)
		if err == nil {
			t.Errorf("%s: accepted", c.field)
			_ = client.Close()
			continue
		}
		harness.RequireOptionError(t, err, c.field)
	}
}

// The deployment's max ttl bounds the settings too, and the error names the setting that was given.
func TestDeploymentWithoutTTL(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		d.Client(redlock.WithMaxTTL(10 * time.Second))
		harness.RequireOptionError(t, harness.ErrOf(d.Stranger().TryLock(context.Background(), "a", redlock.WithLockDelay(20*time.Second))), "lock delay")
		harness.RequireOptionError(t, harness.ErrOf(d.Stranger().TryLock(context.Background(), "a", redlock.WithTTL(30*time.Second))), "ttl")
	})
}

// Two primaries behind Sentinel have the same address in go-redis.
func TestFailoverClients(t *testing.T) {
	t.Parallel()
	var masters []redis.UniversalClient
	for i := range 3 {
		m := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: fmt.Sprint(i), SentinelAddrs: []string{"127.0.0.1:1"}})
		defer m.Close()
		masters = append(masters, m)
	}
	c, err := redlock.New(masters)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range harness.Inside(c).Masters {
		for _, used := range []*redis.Client{m.Redis, m.Redis.WithTimeout(1)} {
			if n := used.Options().MaxRetries; n != 0 {
				t.Errorf("the driver retries our commands %d times", n)
			}
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, m := range masters {
		if n := m.(*redis.Client).Options().MaxRetries; n == 0 {
			t.Error("the caller's client does not retry any more")
		}
	}
}

func TestOpenErrorsHidePasswords(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct{ url, text string }{
		{"", "must be a URL such as redis://"},
		{"10.0.0.1:6379", "does not begin with redis:// or rediss://"},
		{"localhost:6379", "does not begin with redis:// or rediss://"},
		{"http://u:hunter2@h", "its scheme"},
		{"u:hunter2@h", "does not begin with redis:// or rediss://"},
		{"redis//:hunter2@h", "does not begin with redis:// or rediss://"},
		{"//:hunter2@h", "does not begin with redis:// or rediss://"},
		{"hunter2://h", "its scheme"},
		{"redis://:hunter2/et@h", "cannot be parsed"},
		{"redis://:hunter2?et@h", "cannot be parsed"},
		{"redis://:hunter2#et@h", "cannot be parsed"},
		{"redis://:hunter2%zz@h", "cannot be parsed"},
		{"redis://:hunter2", "cannot be parsed"}, // the part before a comma in a password
		{"redis://u:hunter2@h:port/0", "cannot be parsed"},
		{"redis:u:hunter2@h", "no // after its scheme"},
		{"redis:/u:hunter2@h", "names no host"},
		{"redis:///hunter2", "names no host"},
		{"redis://:12/hunter2@h", "names no host"},
		{"redis://u:hunter2@:6379", "names no host"},
		{"redis://u:hunter2@", "names no host"},
		{"redis://a,hunter2", "more than one host"},
		{"redis://u:65536", "its port"},
		{"redis://u:12/hunter2@h", "its path"},
		{"redis://u:hunter2@h:1/x", "its path"},
		{"redis://u:hunter2@h:1/-1", "its path"},
		{"redis://u:hunter2@h:1/0/1", "its path"},
		{"redis://u:12#hunter2@h", "fragment"},
		{"redis://u:hunter2@h:1#", "fragment"},
		{"redis://u:12?hunter2@h", "parameter that is not known"},
		{"redis://h?password=hunter2", "parameter that is not known"},
		{"redis://h?hunter2", "parameter that is not known"},
		{"redis://h?db=hunter2", "parameter db cannot"},
		{"redis://h?db=-1", "parameter db is below 0"},
		{"redis://h?pool_fifo=hunter2", "parameter pool_fifo cannot"},
		{"redis://h?dial_timeout=hunter2", "parameter dial_timeout cannot"},
		{"redis://h?dial_timeout=0", "parameter dial_timeout is not above 0"},
		{"redis://h?pool_size=-5", "parameter pool_size is below 0"},
		{"redis://h?min_idle_conns=-1", "parameter min_idle_conns is below 0"},
		{"redis://h?db=%zz", "its query"},
		{"unix://u:hunter2@h/path", "path of a socket"},
		{"unix://hunter2", "path of a socket"},
		{"unix:u:hunter2@h", "no // after its scheme"},
	} {
		c, err := redlock.Open([]string{"redis://127.0.0.1:1", bad.url})
		if err == nil {
			t.Errorf("%q: accepted", bad.url)
			_ = c.Close()
			continue
		}
		harness.RequireOptionError(t, err, "urls[1]")
		if !strings.Contains(err.Error(), bad.text) {
			t.Errorf("%q: got %v, want one with %q", bad.url, err, bad.text)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the password is in the error: %v", bad.url, err)
		}
	}
	harness.RequireOptionError(t, harness.ErrOf(redlock.Open([]string{"redis://127.0.0.1:1", "redis://127.0.0.1:1"})), "masters[1]")
	_, err := redlock.Open([]string{"redis://localhost", "redis://127.0.0.1:6379", "redis://redis", "redis://REDIS."})
	harness.RequireText(t, err, "masters[1]", "127.0.0.1:6379", "must not be the same server as masters[0]", "masters[3]", "must not be the same server as masters[2]")
}

// The error for a file that a URL names has the parameter and the path.
func TestOpenFileErrors(t *testing.T) {
	t.Parallel()
	_, err := redlock.Open([]string{"rediss://:hunter2@127.0.0.1:1", "rediss://:hunter2@127.0.0.1:2?tls_ca=/no/such/file"})
	harness.RequireOptionError(t, err, "urls[1]'s tls_ca")
	if text := err.Error(); !strings.Contains(text, "/no/such/file: cannot be read") || strings.Contains(text, "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestOpenURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]redis.Options{
		"redis://h":                            {Network: "tcp", Addr: "h:6379"},
		"redis://h:1/":                         {Network: "tcp", Addr: "h:1"},
		"redis://u:p%2Fa%40s%2Cs@h:1/3":        {Network: "tcp", Addr: "h:1", Username: "u", Password: "p/a@s,s", DB: 3},
		"redis://:p@a@h":                       {Network: "tcp", Addr: "h:6379", Password: "p@a"},
		"rediss://:p@h":                        {Network: "tcp", Addr: "h:6379", Password: "p"},
		"redis://[::1]:7?db=2&client_name=n":   {Network: "tcp", Addr: "[::1]:7", DB: 2, ClientName: "n"},
		"redis://h?dial_timeout=2s&protocol=3": {Network: "tcp", Addr: "h:6379", DialTimeout: 2 * time.Second, Protocol: 3},
		"redis://h?pool_size=&pool_fifo=true":  {Network: "tcp", Addr: "h:6379", PoolFIFO: true},
		"unix:///run/redis.sock?db=1":          {Network: "unix", Addr: "/run/redis.sock", DB: 1},
		"unix://u:p@/run/redis.sock":           {Network: "unix", Addr: "/run/redis.sock", Username: "u", Password: "p"},
	} {
		o, err := masterurl.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if secure := strings.HasPrefix(text, "rediss:"); secure != (o.TLSConfig != nil) {
			t.Errorf("%q: TLS %v", text, !secure)
		}
		o.TLSConfig, o.Dialer = nil, nil
		if !reflect.DeepEqual(*o, want) {
			t.Errorf("%q is %+v, want %+v", text, *o, want)
		}
	}
}

func TestCallErrors(t *testing.T) {
	t.Parallel()
	dead := idleClient("127.0.0.1:1")
	defer dead.Close()
	c, err := redlock.New([]redis.UniversalClient{dead})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience) // a call with accepted options waits
	defer cancel()
	for _, bad := range []struct {
		name  string
		opts  []redlock.LockOption
		field string
	}{
		{"", nil, "name"},
		{strings.Repeat("x", limits.MaxNameLen+1), nil, "name"},
		{"a", []redlock.LockOption{nil}, "options[0]"},
		{"a", []redlock.LockOption{redlock.WithTTL(time.Nanosecond)}, "ttl"},
		{"a", []redlock.LockOption{redlock.WithTTL(2 * time.Minute)}, "ttl"},
	} {
		harness.RequireOptionError(t, harness.ErrOf(c.TryLock(ctx, bad.name, bad.opts...)), bad.field)
		harness.RequireOptionError(t, harness.ErrOf(c.Lock(ctx, bad.name, bad.opts...)), bad.field)
	}
}

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	dead := idleClient("127.0.0.1:1")
	defer dead.Close()
	slotted, err := redlock.New([]redis.UniversalClient{dead}, redlock.WithSlots(2))
	harness.Must(t, err)
	defer slotted.Close()
	c, err := redlock.New([]redis.UniversalClient{dead})
	harness.Must(t, err)
	defer c.Close()
	for _, check := range []func(...redlock.LockOption) error{c.CheckOptions, func(opts ...redlock.LockOption) error { return c.CheckOptions(append(opts, redlock.WithoutSlots())...) }} {
		harness.Must(t, check())
		harness.Must(t, check(redlock.WithTTL(time.Second)))
		harness.RequireOptionError(t, check(redlock.WithTTL(time.Hour)), "ttl")
		harness.RequireOptionError(t, check(redlock.WithSlots(limits.MaxSlots+1)), "slots")
		harness.RequireOptionError(t, check(nil), "options[0]")
	}
	harness.Must(t, c.CheckOptions(redlock.WithSlots(2)))
	harness.Must(t, slotted.CheckOptions())
	harness.RequireOptionError(t, c.CheckOptions(redlock.WithSlots(2), redlock.WithoutSlots()), "slots")
	harness.RequireOptionError(t, slotted.CheckOptions(redlock.WithoutSlots()), "slots")
}
