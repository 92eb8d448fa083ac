//go:build planted

package planted

// noSync: a new member that has counters keeps them as they are.
type noSync struct{ honest }

func (noSync) Script(name, source string) string {
	if name != "sync" {
		return source
	}
	return replaced(source, `value < tonumber(least)`, `not valueOf(counter)`)
}
