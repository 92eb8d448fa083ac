package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// RenewSet renews the set that h belongs to.
func RenewSet(h *Hold, now clock.Instant, pause time.Duration) { h.set.renew(now, pause) }
