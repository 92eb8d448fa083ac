package admin_test

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testservers"
)

func TestMain(m *testing.M) {
	script.Buckets = 64 // all counters are sent for each change of the members
	harness.Run(m)
}

var background = context.Background()

// onBoth runs test on n embedded masters in virtual time, and on processes of each line of servers.
func onBoth(t *testing.T, n int, test func(t *testing.T, d *harness.Deployment)) {
	t.Helper()
	t.Parallel()
	harness.RunInVirtualTime(t, "virtual", n, test)
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		testservers.OnAll(t, func(t *testing.T, program string) { harness.OnProgram(t, program, n, test) })
	})
}

// clientOn returns a client of some of the masters.
func clientOn(d *harness.Deployment, masters []int, opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	all := d.Masters
	defer func() { d.Masters = all }()
	d.Masters = nil
	for _, i := range masters {
		d.Masters = append(d.Masters, all[i])
	}
	return d.Stranger(opts...)
}

func inspect(t *testing.T, c *redlock.Client, name string) admin.Inspection {
	t.Helper()
	in, err := admin.Inspect(background, c, name)
	harness.Must(t, err)
	return in
}

func lockKey(name string) string { return script.KeysOf(limits.DefaultPrefix, name, "").Lock }

// lose restarts a master without its data.
func lose(d *harness.Deployment, i int) {
	m := d.Masters[i]
	if other, is := m.(harness.Named); is {
		m = other.Master
	}
	m.(harness.EmbeddedMaster).Kill(true)
	m.Revive()
}
