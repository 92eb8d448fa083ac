//go:build planted_from_the_end

package planted

import "github.com/redlock-go/redlock/internal/clock"

// Bug is the one that is built in.
var Bug fromTheEnd

// fromTheEnd: a vote counts from when the answer came, not from when it was asked
// for.
type fromTheEnd struct{ honest }

func (fromTheEnd) CountsFrom(_, got clock.Instant) clock.Instant { return got }
