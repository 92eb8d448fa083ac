//go:build planted

package planted

// callsNobody: a release does not call the first who waits.
type callsNobody struct{ honest }

func (callsNobody) Script(name, source string) string {
	if name != "release" {
		return source
	}
	return replaced(source, `more().callNext(lock, queue)`, ``)
}
