//go:build planted

package planted

// freedByOthers: an unlock counts the masters that never had the hold, whoever has the name there.
type freedByOthers struct{ honest }

func (freedByOthers) Freed(bool) bool { return true }
