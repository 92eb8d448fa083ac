//go:build planted

package planted

// mixedVersions: votes of different versions of the members are added up.
type mixedVersions struct{ honest }

func (mixedVersions) SameVersion(bool) bool { return true }
