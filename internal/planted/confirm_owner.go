//go:build planted_confirm_owner

package planted

// Bug is the one that is built in.
var Bug confirmOwner

// confirmOwner: a confirm asks for the owner, not for the grant.
type confirmOwner struct{ honest }

func (confirmOwner) Script(name, source string) string {
	if name != "confirm" {
		return source
	}
	return replaced(source, `holder ~= owner or stands ~= grant`, `holder ~= owner`)
}
