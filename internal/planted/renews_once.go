//go:build planted

package planted

// renewsOnce: the watchdog renews a hold only once.
type renewsOnce struct{ honest }

func (renewsOnce) Renews(first bool) bool { return first }
