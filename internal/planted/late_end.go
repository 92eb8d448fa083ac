//go:build planted

package planted

import "time"

// lateEnd: a context ends half a second after the hold.
type lateEnd struct{ honest }

func (lateEnd) TellsAfter() time.Duration { return 480 * time.Millisecond }
