//go:build planted

package planted

// rollbackHeard: a failed acquisition gives back only where a master answered.
type rollbackHeard struct{ honest }

func (rollbackHeard) GivesBack(answered bool) bool { return answered }
