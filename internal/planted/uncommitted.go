//go:build planted

package planted

// uncommitted: a version counts as committed as soon as one member has accepted it: the next
// change is made on it.
type uncommitted struct{ honest }

func (uncommitted) Committed(bool) bool { return true }
