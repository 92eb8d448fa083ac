//go:build planted

package planted

// brokenPromise: a member accepts a table although it promised a higher ballot.
type brokenPromise struct{ honest }

func (brokenPromise) Script(name, source string) string {
	if name != "accept" {
		return source
	}
	return replaced(source, `above(stored.promised or ARGV[2], ARGV[2])`, `false`)
}
