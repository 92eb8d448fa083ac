//go:build planted

package planted

// beyondRange: a counter that is out of range is taken for a good one.
type beyondRange struct{ honest }

func (beyondRange) Script(name, source string) string {
	if name != "counter" {
		return source
	}
	return replaced(source, `value and value <= maxCounter and value or nil`, `value`)
}
