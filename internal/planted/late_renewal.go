//go:build planted_late_renewal

package planted

// Bug is the one that is built in.
var Bug lateRenewal

// lateRenewal: the watchdog writes the lock once more after Unlock.
type lateRenewal struct{ honest }

func (lateRenewal) RenewsLate() bool { return true }
