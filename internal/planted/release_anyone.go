//go:build planted

package planted

// releaseAnyone: a release frees the lock whoever owns it.
type releaseAnyone struct{ honest }

func (releaseAnyone) Script(name, source string) string {
	if name != "release" && name != "unlock" {
		return source
	}
	return replaced(source, `not isOwner(value, owner)`, `not value`)
}
