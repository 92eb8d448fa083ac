package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// RenewSet renews the set that h is one of.
func RenewSet(h *Hold, now clock.Instant, pause time.Duration) { h.set.renew(now, pause) }
