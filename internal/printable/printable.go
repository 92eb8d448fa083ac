package printable

import (
	"strconv"
	"strings"
)

// Text returns text with all unprintable characters escaped as in a Go string. Otherwise the words of a server
// could control the terminal, or forge lines of a log.
func Text(text string) string {
	quoted := strconv.Quote(text)
	return unquoted.Replace(quoted[1 : len(quoted)-1])
}

// unquoted undoes the escapes that only a string literal needs.
var unquoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
