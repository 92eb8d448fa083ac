//go:build planted

package planted

// noReadConfirm: no quorum stands at the token that a reader is told of.
type noReadConfirm struct{ honest }

func (noReadConfirm) Script(name, source string) string {
	if name != "know" {
		return source
	}
	return replaced(source, `return raise(fence, token) or 1`, `return 1`)
}
