package master

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A pool that is small is not used up.
func TestWidthLeavesConnectionsToOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pool, active, want int }{
		{0, 0, 1}, {1, 0, 1}, {3, 0, 1}, {4, 0, 2}, {10, 0, 5}, {1024, 0, maxLinks}, {1024, 6, 3},
	} {
		if got := widthOf(&redis.Options{PoolSize: c.pool, MaxActiveConns: c.active}); got != c.want {
			t.Errorf("widthOf(pool %d, active %d) = %d, want %d", c.pool, c.active, got, c.want)
		}
	}
}

// Whichever of two pauses ends first is that of both.
func TestTheSoonerOfTwoPauses(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ a, b, want time.Duration }{
		{0, 0, 0}, {0, 2, 2}, {3, 0, 3}, {3, 2, 2}, {2, 3, 2},
	} {
		if got := sooner(x.a, x.b); got != x.want {
			t.Errorf("sooner(%d, %d) = %d, want %d", x.a, x.b, got, x.want)
		}
	}
}
