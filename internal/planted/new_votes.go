//go:build planted_new_votes

package planted

// Bug is the one that is built in.
var Bug newVotes

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
