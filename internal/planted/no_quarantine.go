//go:build planted

package planted

import "time"

// noQuarantine: a new member votes as soon as it has the counters.
type noQuarantine struct{ honest }

func (noQuarantine) Quarantine(time.Duration) time.Duration { return 0 }
