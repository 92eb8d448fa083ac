//go:build planted_no_rollback

package planted

// Bug is the one that is built in.
var Bug noRollback

// noRollback: a failed acquisition gives nothing back.
type noRollback struct{ honest }

func (noRollback) GivesBack(bool) bool { return false }
