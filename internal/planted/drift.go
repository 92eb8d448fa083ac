//go:build planted

package planted

import "time"

// drift: the clocks' drift is not taken off a lease.
type drift struct{ honest }

func (drift) Drift(time.Duration) time.Duration { return 0 }
