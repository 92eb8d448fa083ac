package membership

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Who was held up between survey and admission must not undo a later loss.
func TestALateAdmissionDoesNoHarm(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	servers, err := redisproc.StartN(1, redisproc.Config{})
	if errors.Is(err, redisproc.ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skipf("NOT RUN, no redis-server: %v", err)
	}
	must(err)
	t.Cleanup(func() { must(servers[0].Stop()) })
	ctx := context.Background()
	raw := redis.NewClient(&redis.Options{Addr: servers[0].Addr()})
	t.Cleanup(func() { _ = raw.Close() })
	g := New(Config{Prefix: "redlock", Need: 1, Quarantine: time.Minute, Now: clock.Read})
	endpoint := master.NewEndpoint(&redis.Options{Addr: servers[0].Addr()}, time.Second)
	t.Cleanup(func() { _ = endpoint.Redis.Close() })
	m := master.New(master.Config{
		Name: servers[0].Addr(), Endpoint: endpoint, Now: clock.Read, MaxTTL: time.Minute, SideTimeout: Timeout,
		Gate: g, Up: func() {}, Down: func(error) {},
	})
	g.Masters = []*master.Master{m}
	missing, err := g.Init(1) // it may vote from here on
	must(errors.Join(missing, err))

	must(raw.Del(ctx, script.FenceKey("redlock", 7)).Err())
	early, err := g.survey(m, NotDurable)
	must(err)
	floors := make([]int64, script.Buckets)
	floors[7] = 1000
	must(g.raise(m, early, floors))
	refused := func(what string) {
		t.Helper()
		if err := g.raise(m, early, floors); !errors.Is(err, script.ErrNotAdmitted) {
			t.Errorf("%s: %v, want ErrNotAdmitted", what, err)
		}
	}
	refused("once more")

	must(raw.FlushAll(ctx).Err())
	refused("all was lost")
	_, err = g.survey(m, NotDurable)
	must(err)
	refused("the loss was noted")
	if got := raw.Get(ctx, "redlock:admitted").Val(); !strings.HasPrefix(got, "out ") {
		t.Errorf("admitted is %q", got)
	}
}
