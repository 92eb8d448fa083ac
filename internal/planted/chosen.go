//go:build planted

package planted

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Bug is the one that Env names.
var Bug = chosen()

// place is where a bug can be: honest tells what each method is for.
type place interface {
	Drift(allowance time.Duration) time.Duration
	Quarantine(d time.Duration) time.Duration
	CountsFrom(sent, got clock.Instant) clock.Instant
	Grant(grant, top int64) int64
	Confirmed(stands bool) bool
	GivesBack(answered bool) bool
	Freed(free bool) bool
	RenewsLate() bool
	TellsAfter() time.Duration
	Renews(first bool) bool
	OneDisowns() bool
	Reenters(upgrade bool) bool
	SameVersion(same bool) bool
	SyncsEarly() bool
	AllVote() bool
	Committed(by bool) bool
	Floors(read []int64) []int64
	Script(name, source string) string
	RenewsAt(i int) bool
	Orders() bool
	RefusedFor(d time.Duration) time.Duration
}

// bugs are all that there are, by name.
var bugs = map[string]place{
	"late_end":          lateEnd{},
	"renews_once":       renewsOnce{},
	"reentry_ends":      reentryEnds{},
	"mixed_versions":    mixedVersions{},
	"early_sync":        earlySync{},
	"uncommitted":       uncommitted{},
	"removal_alone":     removalAlone{},
	"broken_promise":    brokenPromise{},
	"batch_error":       batchError{},
	"beyond_range":      beyondRange{},
	"freed_by_others":   freedByOthers{},
	"any_version":       anyVersion{},
	"calls_nobody":      callsNobody{},
	"confirm_owner":     confirmOwner{},
	"counted_reentry":   countedReentry{},
	"drift":             drift{},
	"from_the_end":      fromTheEnd{},
	"force_keeps_token": forceKeepsToken{},
	"forced_renews":     forcedRenews{},
	"late_renewal":      lateRenewal{},
	"new_votes":         newVotes{},
	"no_confirm":        noConfirm{},
	"no_quarantine":     noQuarantine{},
	"no_rollback":       noRollback{},
	"no_sync":           noSync{},
	"one_token":         oneToken{},
	"one_too_many":      oneTooMany{},
	"release_anyone":    releaseAnyone{},
	"rollback_heard":    rollbackHeard{},
	"set_half":          setHalf{},
	"set_renews_first":  setRenewsFirst{},
	"set_unordered":     setUnordered{},
	"no_read_confirm":   noReadConfirm{},
	"readers_first":     readersFirst{},
	"renews_others":     renewsOthers{},
	"downgrade_gap":     downgradeGap{},
	"upgrade_waits":     upgradeWaits{},
}

// chosen ends the process when Env names no bug: nothing must pass for one with a bug
// that has none.
func chosen() place {
	bug, is := bugs[os.Getenv(Env)]
	if !is {
		fmt.Fprintf(os.Stderr, "planted: %s=%q names no bug; there are: %s\n",
			Env, os.Getenv(Env), strings.Join(slices.Sorted(maps.Keys(bugs)), ", "))
		os.Exit(2)
	}
	return bug
}
