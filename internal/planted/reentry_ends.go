//go:build planted

package planted

// reentryEnds: a re-entry ends the hold as soon as one master disowns it.
type reentryEnds struct{ honest }

func (reentryEnds) OneDisowns() bool { return true }
