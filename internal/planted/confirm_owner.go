//go:build planted

package planted

// confirmOwner: a confirm asks for the owner, not for the grant.
type confirmOwner struct{ honest }

func (confirmOwner) Script(name, source string) string {
	if name != "confirm" {
		return source
	}
	return replaced(source, `holder ~= owner or stands ~= grant and grant ~= '0'`, `holder ~= owner`)
}
