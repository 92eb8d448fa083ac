package redlock

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/masterurl"
)

func idleClient(addr string) *redis.Client { return redis.NewClient(&redis.Options{Addr: addr}) }

func TestBadInputIsRefusedAtConstruction(t *testing.T) {
	t.Parallel()
	a, b := idleClient("127.0.0.1:1"), idleClient("127.0.0.1:2")
	defer a.Close()
	defer b.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer cluster.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	var shared []redis.UniversalClient // whose pools are too small
	for _, o := range []redis.FailoverOptions{{PoolSize: 1}, {MaxActiveConns: 1}} {
		o.SentinelAddrs = []string{"127.0.0.1:1"}
		f := redis.NewFailoverClient(&o)
		defer f.Close()
		shared = append(shared, f)
	}
	ok := []redis.UniversalClient{a}
	for _, c := range []struct {
		masters []redis.UniversalClient
		opts    []Option
		field   string
	}{
		{nil, nil, "number of masters"},
		{[]redis.UniversalClient{}, nil, "number of masters"},
		{make([]redis.UniversalClient, 32), nil, "number of masters"},
		{[]redis.UniversalClient{a, nil}, nil, "masters[1]"},
		{[]redis.UniversalClient{a, (*redis.Client)(nil)}, nil, "masters[1]"},
		{[]redis.UniversalClient{a, b, a}, nil, "masters[2]"},
		{[]redis.UniversalClient{a, cluster}, nil, "masters[1]"},
		{[]redis.UniversalClient{ring}, nil, "masters[0]"},
		{shared[:1], nil, "masters[0]"},
		{append(ok, shared[1]), nil, "masters[1]"},
		{ok, []Option{nil}, "options[0]"},
		{ok, []Option{WithTTL(0)}, "ttl"},
		{ok, []Option{WithTTL(-time.Second)}, "ttl"},
		{ok, []Option{WithTTL(time.Microsecond)}, "ttl"},
		{ok, []Option{WithTTL(49 * time.Millisecond), WithRequestTimeout(time.Millisecond)}, "ttl"},
		{ok, []Option{WithTTL(time.Hour)}, "ttl"},
		{ok, []Option{WithTTL(time.Minute), WithLockDelay(time.Second)}, "ttl"},
		{ok, []Option{WithTTL(500 * time.Millisecond)}, "ttl"},
		{ok, []Option{WithTTL(math.MaxInt64), WithMaxTTL(maxDuration), WithLockDelay(math.MaxInt64)}, "ttl"},
		{ok, []Option{WithMaxTTL(math.MaxInt64)}, "max ttl"}, // its quarantine would overflow, and be over at once
		{ok, []Option{WithMaxHold(math.MaxInt64)}, "max hold"},
		{ok, []Option{WithRequestTimeout(31 * time.Second)}, "request timeout"},
		{ok, []Option{WithDrift(0.9)}, "drift"},
		{ok, []Option{WithRequestTimeout(0)}, "request timeout"},
		{ok, []Option{WithDrift(1)}, "drift"},
		{ok, []Option{WithDrift(-0.1)}, "drift"},
		{ok, []Option{WithDrift(math.NaN())}, "drift"},
		{ok, []Option{WithMaxTTL(0)}, "max ttl"},
		{ok, []Option{WithPrefix("")}, "prefix"},
		{ok, []Option{WithPrefix("a{b")}, "prefix"},
		{ok, []Option{WithLockDelay(-time.Second)}, "lock delay"},
		{ok, []Option{WithMaxHold(-time.Second)}, "max hold"},
		{ok, []Option{WithMaxHold(0)}, "max hold"},
	} {
		client, err := New(c.masters, c.opts...)
		if err == nil {
			t.Errorf("%s: accepted", c.field)
			_ = client.Close()
			continue
		}
		requireOptionError(t, err, c.field)
	}
}

// A default is nobody's choice: what was chosen decides what it is.
func TestTheDefaultTTLFits(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		opts  []Option
		call  []LockOption
		want  time.Duration
	}{
		{"nothing is set", nil, nil, limits.DefaultTTL},
		{"a short max ttl", []Option{WithMaxTTL(10 * time.Second)}, nil, 10 * time.Second},
		{"a long max ttl", []Option{WithMaxTTL(time.Hour)}, nil, limits.DefaultTTL},
		{"a max ttl and a lock delay", []Option{WithMaxTTL(10 * time.Second), WithLockDelay(4 * time.Second)}, nil, 6 * time.Second},
		{"a lock delay", []Option{WithLockDelay(40 * time.Second)}, nil, 20 * time.Second},
		{"a lock delay at the call", nil, []LockOption{WithLockDelay(40 * time.Second)}, 20 * time.Second},
		{"less lock delay at the call", []Option{WithLockDelay(40 * time.Second)}, []LockOption{WithLockDelay(0)}, limits.DefaultTTL},
		{"a ttl", []Option{WithMaxTTL(10 * time.Second), WithTTL(5 * time.Second)}, nil, 5 * time.Second},
		{"a ttl, and more at the call", []Option{WithTTL(5 * time.Second)}, []LockOption{WithTTL(6 * time.Second)}, 6 * time.Second},
	} {
		cfg, err := newConfig(x.opts)
		if err != nil {
			t.Errorf("%s: %v", x.claim, err)
			continue
		}
		got, err := (&Client{config: cfg}).configFor("job", x.call)
		if err != nil || got.ttl != x.want {
			t.Errorf("%s: the ttl is %v (%v), want %v", x.claim, got.ttl, err, x.want)
		}
	}
	_, err := newConfig([]Option{WithMaxTTL(10 * time.Second), WithTTL(11 * time.Second)})
	requireOptionError(t, err, "ttl")
}

// An option that is refused is named as it was given, with what would be right; and only one
// that was given.
func TestOptionErrorsSayWhatWasGiven(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		opts []Option
		says string
	}{
		{[]Option{WithTTL(-1)}, "invalid ttl -1ns: must be at least 50ms"},
		{[]Option{WithTTL(49999999)}, "invalid ttl 49.999999ms: must be at least 50ms"},
		{[]Option{WithTTL(500900 * time.Microsecond)}, "invalid ttl 500.9ms: must be above the request timeout (500ms)"},
		{[]Option{WithLockDelay(-1)}, "invalid lock delay -1ns: must not be negative"},
		{[]Option{WithLockDelay(-999 * time.Microsecond)}, "invalid lock delay -999µs: must not be negative"},
		{[]Option{WithMaxHold(0)}, "invalid max hold 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithMaxHold(-time.Hour)}, "invalid max hold -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(0)}, "invalid hold at least 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(-time.Hour)}, "invalid hold at least -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithSlots(0)}, "invalid slots 0: must be 1 to 64"},
		{[]Option{WithSlots(-100)}, "invalid slots -100: must be 1 to 64"},
		{[]Option{WithLockDelay(time.Hour)}, "invalid lock delay 1h0m0s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithLockDelay(math.MaxInt64)}, "invalid lock delay 2562047h47m16.854775807s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithMaxTTL(10 * time.Second), WithLockDelay(10 * time.Second)}, "invalid lock delay 10s: must be at most 9.499s, so that a ttl of 501ms or more is left of the max ttl (10s)"},
		{[]Option{WithRequestTimeout(time.Hour)}, "invalid request timeout 1h0m0s: must be below the ttl, which is 30s by default (the max ttl is 1m0s)"},
		{[]Option{WithRequestTimeout(time.Second), WithMaxTTL(time.Second)}, "invalid request timeout 1s: must be below the ttl, which is 1s by default (the max ttl is 1s)"},
		{[]Option{WithMaxTTL(500 * time.Millisecond)}, "invalid max ttl 500ms: must be above the request timeout (500ms), as every ttl"},
		{[]Option{WithDrift(0.99)}, "invalid drift 0.99: must be lower: its allowance leaves too little of the ttl (30s by default)"},
	} {
		if _, err := newConfig(x.opts); err == nil || err.Error() != "redlock: "+x.says {
			t.Errorf("got %v, want %s", err, x.says)
		}
	}
	for _, right := range [][]Option{
		{WithLockDelay(59499 * time.Millisecond)},
		{WithMaxTTL(501 * time.Millisecond)},
		{WithRequestTimeout(30*time.Second - 1)},
	} {
		_, err := newConfig(right)
		must(t, err)
	}
}

// The same where the deployment leaves less than the client's own settings do.
func TestADeploymentThatLeavesNoTTL(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		d.client(WithMaxTTL(10 * time.Second))
		_, err := d.stranger().TryLock(background, "a", WithLockDelay(20*time.Second))
		requireOptionError(t, err, "lock delay")
	})
}

// Two Sentinel-fronted primaries have the same address for go-redis.
func TestFailoverClientsAreMasters(t *testing.T) {
	t.Parallel()
	var masters []redis.UniversalClient
	for i := range 3 {
		m := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: fmt.Sprint(i), SentinelAddrs: []string{"127.0.0.1:1"}})
		defer m.Close()
		masters = append(masters, m)
	}
	c, err := New(masters)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.masters {
		for _, used := range []*redis.Client{m.Endpoint.Redis, m.Endpoint.Redis.WithTimeout(1)} {
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

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithDrift(2), WithPrefix(""))
	for _, field := range []string{"masters", "drift", "prefix"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%q is missing in: %v", field, err)
		}
	}
}

func TestBadURLsAreRefusedWithoutTheirPasswords(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct{ url, says string }{
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
		{"redis://:hunter2", "cannot be parsed"}, // what is before a comma in a password
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
		c, err := Open([]string{"redis://127.0.0.1:1", bad.url})
		if err == nil {
			t.Errorf("%q: accepted", bad.url)
			_ = c.Close()
			continue
		}
		requireOptionError(t, err, "urls[1]")
		if !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%q: got %v, want what says %q", bad.url, err, bad.says)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the password is in the error: %v", bad.url, err)
		}
	}
	_, err := Open([]string{"redis://127.0.0.1:1", "redis://127.0.0.1:1"})
	requireOptionError(t, err, "masters[1]")
}

// Of a file that a URL names, the error tells the parameter and the path.
func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Open([]string{"rediss://:hunter2@127.0.0.1:1", "rediss://:hunter2@127.0.0.1:2?tls_ca=/no/such/file"})
	requireOptionError(t, err, "urls[1]'s tls_ca")
	if text := err.Error(); !strings.Contains(text, "/no/such/file: cannot be read") || strings.Contains(text, "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestGoodURLs(t *testing.T) {
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

func TestBadInputIsRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	dead := idleClient("127.0.0.1:1")
	defer dead.Close()
	c, err := New([]redis.UniversalClient{dead})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(background, patience) // what is accepted waits
	defer cancel()
	for _, bad := range []struct {
		name  string
		opts  []LockOption
		field string
	}{
		{"", nil, "name"},
		{strings.Repeat("x", limits.MaxNameLen+1), nil, "name"},
		{"a", []LockOption{nil}, "options[0]"},
		{"a", []LockOption{WithTTL(time.Nanosecond)}, "ttl"},
		{"a", []LockOption{WithTTL(2 * time.Minute)}, "ttl"},
	} {
		_, err := c.TryLock(ctx, bad.name, bad.opts...)
		requireOptionError(t, err, bad.field)
		_, err = c.Lock(ctx, bad.name, bad.opts...)
		requireOptionError(t, err, bad.field)
	}
}

func TestOptionsCanBeCheckedBefore(t *testing.T) {
	t.Parallel()
	dead := idleClient("127.0.0.1:1")
	defer dead.Close()
	slotted, err := New([]redis.UniversalClient{dead}, WithSlots(2))
	must(t, err)
	defer slotted.Close()
	c, err := New([]redis.UniversalClient{dead})
	must(t, err)
	defer c.Close()
	for _, check := range []func(...LockOption) error{c.CheckOptions, func(opts ...LockOption) error { return c.checkOneHolder(opts) }} {
		must(t, check())
		must(t, check(WithTTL(time.Second)))
		requireOptionError(t, check(WithTTL(time.Hour)), "ttl")
		requireOptionError(t, check(WithSlots(limits.MaxSlots+1)), "slots")
		requireOptionError(t, check(nil), "options[0]")
	}
	must(t, c.CheckOptions(WithSlots(2)))
	must(t, slotted.CheckOptions())
	requireOptionError(t, c.checkOneHolder([]LockOption{WithSlots(2)}), "slots")
	requireOptionError(t, slotted.checkOneHolder(nil), "slots")
}

// bsm/redislock's retry strategies keep state: options reused for a second call
// behaved differently. Ours are values.
func TestOptionsCanBeReused(t *testing.T) {
	t.Parallel()
	opts := []LockOption{WithTTL(10 * time.Second), WithLockDelay(time.Second), WithMaxHold(time.Hour), WithWait(time.Second), WithoutWatchdog()}
	var first lockConfig
	for i := range 100 {
		var l lockConfig
		for _, o := range opts {
			o.applyLock(&l)
		}
		if i == 0 {
			first = l
		}
		if l != first {
			t.Fatalf("use %d differs: %+v, first %+v", i, l, first)
		}
	}
}
