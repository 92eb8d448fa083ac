//go:build planted_no_confirm

package planted

// Bug is the one that is built in.
var Bug noConfirm

// noConfirm: a token counts without a quorum standing at it.
type noConfirm struct{ honest }

func (noConfirm) Confirmed(bool) bool { return true }
