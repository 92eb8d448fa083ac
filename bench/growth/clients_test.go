package growth

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
)

// clients measures how long n clients take to learn a new version. All clients are in this process. Each
// client holds a name, and learns the version by an Extend. A lost lock is an error.
func clients(t testing.TB, n int, _ time.Duration) map[string]float64 {
	const extended = 3 * time.Second
	ctx, end := context.WithCancel(context.Background())
	d := deploy(t)
	t.Cleanup(end)
	operator := d.open()
	var lost atomic.Int64
	version := make([]atomic.Int64, n) // the version that each client has learned
	// Not all connect at once, as in a rolling start.
	atOnce(t, n, func(i int) error {
		c := d.open(redlock.WithObserver(redlock.Observer{
			VersionLearned: func(t redlock.TableVersion) { version[i].Store(int64(t.Version)) },
		}))
		lock, err := c.Lock(ctx, fmt.Sprintf("own-%d", i), redlock.WithWait(patience))
		if err != nil {
			return err
		}
		go func() {
			for ticker := time.NewTicker(extended); ctx.Err() == nil; {
				select {
				case <-ticker.C:
					_ = lock.Extend(ctx, limits.DefaultTTL) // a failure shows at the end of the hold
				case <-lock.Context().Done():
					lost.Add(1)
					return
				case <-ctx.Done():
				}
			}
		}()
		return nil
	})
	members, err := admin.Members(ctx, operator)
	must(t, err)
	begun := time.Now()
	must(t, admin.ChangeMembers(ctx, operator, admin.SuspendMember(members.Members[0].Address), nil))
	until(t, "all clients know the members", func() bool {
		for i := range version {
			if version[i].Load() <= int64(members.Version) {
				return false
			}
		}
		return true
	})
	learned := time.Since(begun)
	if lost.Load() > 0 {
		t.Fatalf("%d locks were lost", lost.Load())
	}
	return map[string]float64{"learned-ms": millis(learned, 1)}
}
