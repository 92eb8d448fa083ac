//go:build planted_no_quarantine

package planted

import "time"

// Bug is the one that is built in.
var Bug noQuarantine

// noQuarantine: a master that lost data votes at once.
type noQuarantine struct{ honest }

func (noQuarantine) Quarantine(time.Duration) time.Duration { return 0 }
