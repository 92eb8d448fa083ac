//go:build planted

package planted

// upgradeWaits: a reader that asks to write waits like anybody, for itself.
type upgradeWaits struct{ honest }

func (upgradeWaits) Reenters(upgrade bool) bool { return !upgrade }
