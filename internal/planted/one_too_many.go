//go:build planted

package planted

// oneTooMany: the change by which a new member votes makes others voting too, which lack their counters.
type oneTooMany struct{ honest }

func (oneTooMany) AllVote() bool { return true }
