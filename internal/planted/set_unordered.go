//go:build planted

package planted

// setUnordered: several names are taken in the order in which the caller gave them.
type setUnordered struct{ honest }

func (setUnordered) Orders() bool { return false }
