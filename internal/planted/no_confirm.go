//go:build planted

package planted

// noConfirm: a token counts without a quorum standing at it.
type noConfirm struct{ honest }

func (noConfirm) Confirmed(bool) bool { return true }
