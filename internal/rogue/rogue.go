package rogue

import (
	"fmt"
	"strings"
)

// NoHello is the reply to the greeting of go-redis from a server that lacks the command HELLO.
const NoHello = "-ERR unknown command 'hello'\r\n"

// RunID is the run id of a server that sends these replies.
const RunID = "ffffffffffffffffffffffffffffffffffffffff"

// Bulk returns a string as a reply.
func Bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// Array returns an array as a reply. Its values are replies, too.
func Array(values ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(values), strings.Join(values, ""))
}

// Absurd are replies that no master sends. A test answers every request with one of them.
var Absurd = map[string]string{
	"a string of 2^63-1 bytes":  "$9223372036854775807\r\n",
	"a string of 8 GB":          "$8000000000\r\n",
	"an array of 2^63-1":        "*9223372036854775807\r\n",
	"an array of 2^31-1":        "*2147483647\r\n",
	"a map of 2^62":             "%4611686018427387904\r\n",
	"a blob error of 8 GB":      "!8000000000\r\n",
	"arrays in arrays":          strings.Repeat("*1\r\n", 1<<20),
	"wide arrays in arrays":     strings.Repeat("*60000\r\n", 1<<10),
	"a line without end":        "-ERR " + strings.Repeat("x", 2<<20),
	"a string of 2 MB":          Bulk(strings.Repeat("x", 2<<20)),
	"a length that is none":     "$x\r\n",
	"a negative length":         "*-2\r\n",
	"nothing of the protocol":   "HTTP/1.1 400 Bad Request\r\n\r\n",
	"an empty array":            "*0\r\n",
	"an array of nils":          "*3\r\n$-1\r\n*-1\r\n_\r\n",
	"a nil":                     "$-1\r\n",
	"a number out of range":     ":9223372036854775808\r\n",
	"the least number":          ":-9223372036854775808\r\n",
	"the largest number":        ":9223372036854775807\r\n",
	"a message without channel": Array(Bulk("message")),
	"a message of numbers":      Array(":1\r\n", ":2\r\n", ":3\r\n"),
	"a subscription to nothing": Array(Bulk("subscribe"), "$-1\r\n", "$-1\r\n"),
	"a short survey":            Array(Bulk(RunID), Bulk(""), Bulk("1700000000000"), Bulk("1700000000000"), Bulk("0")),
	"a survey of none":          Array(Bulk(RunID), Bulk(""), Bulk("1700000000000"), Bulk("1700000000000")),
}
