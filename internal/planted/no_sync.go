//go:build planted_no_sync

package planted

// Bug is the one that is built in.
var Bug noSync

// noSync: a new member that has counters keeps them as they are.
type noSync struct{ honest }

func (noSync) Script(name, source string) string {
	if name != "sync" {
		return source
	}
	return replaced(source, `(valueOf(counter) or 0) < tonumber(least)`, `not valueOf(counter)`)
}
