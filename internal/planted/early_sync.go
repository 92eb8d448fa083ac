//go:build planted

package planted

// earlySync: a new member gets the counters of the members before the version that lists it.
type earlySync struct{ honest }

func (earlySync) SyncsEarly() bool { return true }
