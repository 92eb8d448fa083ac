//go:build planted

package planted

import "time"

// forcedRenews: whom an operator took a lock from is not refused, and its next renewal writes it back.
type forcedRenews struct{ honest }

func (forcedRenews) RefusedFor(time.Duration) time.Duration { return 0 }
