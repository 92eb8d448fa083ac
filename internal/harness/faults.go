package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The lease and the request timeout of tests with a proxy before each master.
const (
	FaultTTL     = 20 * time.Second
	FaultRequest = time.Second
)

// Proxied returns a deployment of processes with a proxy before each process. Its clients use the proxies, and its Raw
// clients bypass them.
func Proxied(t *testing.T, n int) (*Deployment, []*faultproxy.Proxy) {
	t.Helper()
	d := Processes(t, n, redisproc.Config{})
	proxies := make([]*faultproxy.Proxy, n)
	for i, m := range d.Masters {
		p, err := faultproxy.New(m.(ProcessMaster).Addr())
		Must(t, err)
		t.Cleanup(func() { Must(t, p.Close()) })
		proxies[i] = p
		d.Masters[i] = ProxiedMaster{m.(ProcessMaster), p}
	}
	return d, proxies
}

// ProxiedMaster is a process with a proxy before it.
type ProxiedMaster struct {
	ProcessMaster
	*faultproxy.Proxy
}

func (m ProxiedMaster) Options() *redis.Options {
	return master.ClientOptions(&redis.Options{Addr: m.Proxy.Addr()}, FaultRequest)
}

// FaultClient returns a client as Reached does, for a deployment with proxies.
func FaultClient(d *Deployment, opts ...redlock.Option) *redlock.Client {
	return d.Reached(append([]redlock.Option{redlock.WithRequestTimeout(FaultRequest), redlock.WithTTL(FaultTTL)}, opts...)...)
}

// On returns a rule for the batches that contain an operation.
func On(o *script.Operation, nth int, do faultproxy.Action) faultproxy.Rule {
	return faultproxy.Rule{On: faultproxy.Match("evalsha", o.Name), Nth: nth, Do: do}
}

// RequireFree waits, as GivenBack does, until no master of a deployment with proxies has the lock.
func RequireFree(t *testing.T, d *Deployment, name string) {
	t.Helper()
	GivenBack(t, d, name, strings.Repeat("0", len(d.Masters)), FaultTTL/2)
}

// The leases of tests with masters that restart: a short MaxTTL makes quarantines short.
const (
	RecoveryTTL    = 2 * time.Second
	RecoveryMaxTTL = 3 * time.Second
)

// RecoveryOptions adds RecoveryTTL, RecoveryMaxTTL and a fitting request timeout to options.
func RecoveryOptions(opts ...redlock.Option) []redlock.Option {
	return append([]redlock.Option{redlock.WithRequestTimeout(time.Second), redlock.WithTTL(RecoveryTTL), redlock.WithMaxTTL(RecoveryMaxTTL)}, opts...)
}
