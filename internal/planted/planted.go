// Package planted holds bugs that a chaos run must find: each is built in by a tag
// of its own (planted_drift, …), never by default. A lock client without a tag has
// none of them, and the compiler leaves no trace of the questions.
package planted

import "strings"

// The bugs, each named by its build tag without the prefix. Those who build
// redlock in know what each is: the comments where it is asked for.
const (
	Drift          = "drift"           // the clocks' drift is not taken off a lease
	FromTheEnd     = "from_the_end"    // a vote counts from when the answer came, not from when it was asked for
	NoRollback     = "no_rollback"     // a failed acquisition gives nothing back
	RollbackHeard  = "rollback_heard"  // it gives back only where a master answered
	ReleaseAnyone  = "release_anyone"  // a release frees the lock whoever owns it
	OneToken       = "one_token"       // the token is the grant number of one master
	NoConfirm      = "no_confirm"      // a token counts without a quorum standing at it
	ConfirmOwner   = "confirm_owner"   // a confirm asks for the owner, not for the grant
	NoQuarantine   = "no_quarantine"   // a master that lost data votes at once
	LateRenewal    = "late_renewal"    // the watchdog writes the lock once more after Unlock
	CountedReentry = "counted_reentry" // entries are counted one by one, so that a resent one counts twice
)

// Script returns the source of a script, or one with the bug in it.
func Script(name, source string) string {
	switch Bug + " " + name {
	case ReleaseAnyone + " release":
		return replaced(source, `redis.call('HGET', lock, 'owner') ~= owner`, `redis.call('EXISTS', lock) == 0`)
	case ConfirmOwner + " confirm":
		return replaced(source, `held[1] ~= owner or held[2] ~= grant`, `held[1] ~= owner`)
	case CountedReentry + " acquire":
		return replaced(source, `redis.call('HSET', lock, 'depth', depth)`, `redis.call('HINCRBY', lock, 'depth', 1)`)
	case CountedReentry + " release":
		return replaced(source, `if depth ~= '0' then
    redis.call('HSET', lock, 'depth', depth)`, `if redis.call('HINCRBY', lock, 'depth', -1) > 0 then`)
	}
	return source
}

func replaced(source, what, by string) string {
	if !strings.Contains(source, what) {
		panic("planted: the script has changed, the bug does not fit any more: " + what)
	}
	return strings.Replace(source, what, by, 1)
}
