//go:build planted_rollback_heard

package planted

// Bug is the one that is built in.
var Bug rollbackHeard

// rollbackHeard: a failed acquisition gives back only where a master answered.
type rollbackHeard struct{ honest }

func (rollbackHeard) GivesBack(answered bool) bool { return answered }
