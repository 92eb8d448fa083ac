//go:build planted_no_quarantine

package planted

import "time"

// Bug is the one that is built in.
var Bug noQuarantine

// noQuarantine: a new member votes as soon as it has the counters.
type noQuarantine struct{ honest }

func (noQuarantine) Quarantine(time.Duration) time.Duration { return 0 }
