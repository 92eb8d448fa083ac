//go:build planted

package planted

// lateRenewal: the watchdog writes the lock once more after Unlock.
type lateRenewal struct{ honest }

func (lateRenewal) RenewsLate() bool { return true }
