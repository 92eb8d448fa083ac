//go:build planted

package planted

// noRollback: a failed acquisition gives nothing back.
type noRollback struct{ honest }

func (noRollback) GivesBack(bool) bool { return false }
