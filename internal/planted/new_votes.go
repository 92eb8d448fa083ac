//go:build planted

package planted

// newVotes: a new member votes at once. One without counters would disown itself at its first grant, for good, so it counts on
// from there as well.
type newVotes struct{ honest }

func (newVotes) Script(name, source string) string {
	switch name {
	case "member":
		return replaced(source, `local function take(ballot, tableText)
`, `local function take(ballot, tableText)
  tableText = string.gsub(tableText, '"state":"new"', '"state":"voting"')
`)
	case "lost":
		return replaced(source, `redis.pcall('DEL', fence)`, ``)
	}
	return source
}
