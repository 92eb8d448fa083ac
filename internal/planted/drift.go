//go:build planted_drift

package planted

import "time"

// Bug is the one that is built in.
var Bug drift

// drift: the clocks' drift is not taken off a lease.
type drift struct{ honest }

func (drift) Drift(time.Duration) time.Duration { return 0 }
