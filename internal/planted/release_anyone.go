//go:build planted_release_anyone

package planted

// Bug is the one that is built in.
var Bug releaseAnyone

// releaseAnyone: a release frees the lock whoever owns it.
type releaseAnyone struct{ honest }

func (releaseAnyone) Script(name, source string) string {
	if name != "release" && name != "unlock" {
		return source
	}
	return replaced(source, `not isOwner(value, owner)`, `not value`)
}
