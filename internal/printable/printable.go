package printable

import (
	"strconv"
	"strings"
)

// Text returns text with all that is not printable escaped as in a Go string: what a server says
// could else steer the terminal that it is printed on, or forge lines of a log.
func Text(text string) string {
	quoted := strconv.Quote(text)
	return unquoted.Replace(quoted[1 : len(quoted)-1])
}

// unquoted takes back what only a string needs.
var unquoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
