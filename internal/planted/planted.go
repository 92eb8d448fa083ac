package planted

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// honest has no bug. A bug embeds it, and overrides what it spoils.
type honest struct{}

// Drift returns what is taken off a lease for the drift of the clocks.
func (honest) Drift(allowance time.Duration) time.Duration { return allowance }

// Quarantine returns how long a master that may have lost data stays out.
func (honest) Quarantine(d time.Duration) time.Duration { return d }

// CountsFrom returns the moment from which a vote counts.
func (honest) CountsFrom(sent, got clock.Instant) clock.Instant { return sent }

// Grant returns a grant number for a token, which is the highest of them: top so far.
func (honest) Grant(grant, top int64) int64 { return grant }

// Confirmed reports whether a quorum stands at a token.
func (honest) Confirmed(stands bool) bool { return stands }

// GivesBack reports whether a failed acquisition releases what a master may have
// granted, which answered or did not.
func (honest) GivesBack(answered bool) bool { return true }

// RenewsLate reports whether the watchdog writes the lock once more after Unlock.
func (honest) RenewsLate() bool { return false }

// Script returns the source of a script.
func (honest) Script(name, source string) string { return source }
