//go:build planted

package planted

// setHalf: a master grants those of several names that are free, though others are not.
type setHalf struct{ honest }

func (setHalf) Script(name, source string) string {
	if name != "joint" {
		return source
	}
	return replaced(source, `grantable, left = look(k, a, group), group`, `grantable, left = true, group`)
}
