package planted

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Env is the environment variable that names the bug of a program that was built with the
// tag planted.
const Env = "REDLOCK_PLANTED"

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

// Freed reports whether a master that never had a hold counts for its unlock; free tells whether
// anybody else has the name there.
func (honest) Freed(free bool) bool { return free }

// RenewsLate reports whether the watchdog writes the lock once more after Unlock.
func (honest) RenewsLate() bool { return false }

// TellsAfter returns how long after the end of a hold its context ends.
func (honest) TellsAfter() time.Duration { return 0 }

// Renews reports whether the watchdog renews a hold, which it does for the first time or
// not.
func (honest) Renews(first bool) bool { return true }

// OneDisowns reports whether a re-entry ends the hold when a single master disowns it.
func (honest) OneDisowns() bool { return false }

// Reenters reports whether a call under a hold enters that; upgrade tells that the hold reads,
// and the call is to write.
func (honest) Reenters(upgrade bool) bool { return true }

// SameVersion reports whether a vote counts with those that a hold has, which are of the
// same version of the members or not.
func (honest) SameVersion(same bool) bool { return same }

// SyncsEarly reports whether a server gets its counters before the version that lists it
// is committed.
func (honest) SyncsEarly() bool { return false }

// AllVote reports whether all new members vote as soon as one of them may, with the counters that they have.
func (honest) AllVote() bool { return false }

// Committed reports whether a version that a member has accepted is committed.
func (honest) Committed(by bool) bool { return by }

// Floors returns the counters that members must have before another one is removed.
func (honest) Floors(read []int64) []int64 { return read }

// Script returns the source of a script.
func (honest) Script(name, source string) string { return source }

// RenewsAt reports whether a set of names is renewed at its i-th one.
func (honest) RenewsAt(i int) bool { return true }

// Orders reports whether a set of names is taken in the order of the names.
func (honest) Orders() bool { return true }

// RefusedFor returns for how long a master refuses an owner from whom an operator took a lock.
func (honest) RefusedFor(d time.Duration) time.Duration { return d }
