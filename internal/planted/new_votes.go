//go:build planted

package planted

// newVotes: a new member votes at once.
type newVotes struct{ honest }

func (newVotes) Script(name, source string) string {
	if name != "member" {
		return source
	}
	return replaced(source, `local function take(ballot, tableText)
`, `local function take(ballot, tableText)
  tableText = string.gsub(tableText, '"state":"new"', '"state":"voting"')
`)
}
