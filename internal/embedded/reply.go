package embedded

import (
	"strconv"
	"strings"
)

// reply is what a command replies. The zero reply is the null one.
type reply struct {
	kind  kind
	n     int64
	text  string
	items []reply
}

type kind byte

const (
	null kind = iota
	integer
	bulk
	status
	failure
	array
	several // replies one after the other, and not as an array
)

func number(n int64) reply         { return reply{kind: integer, n: n} }
func text(s string) reply          { return reply{kind: bulk, text: s} }
func simple(s string) reply        { return reply{kind: status, text: s} }
func failed(s string) reply        { return reply{kind: failure, text: s} }
func arrayOf(items ...reply) reply { return reply{kind: array, items: items} }
func texts(items []string) reply {
	all := make([]reply, len(items))
	for i, s := range items {
		all[i] = text(s)
	}
	return arrayOf(all...)
}

func yes(b bool) reply {
	if b {
		return number(1)
	}
	return number(0)
}

var (
	ok             = simple("OK")
	errWrongType   = failed("WRONGTYPE Operation against a key holding the wrong kind of value")
	errSyntax      = failed("ERR syntax error")
	errNoInteger   = failed("ERR value is not an integer or out of range")
	errNoFloat     = failed("ERR value is not a valid float")
	errOverflow    = failed("ERR increment or decrement would overflow")
	errNoScript    = failed("NOSCRIPT No matching script. Please use EVAL.")
	errReadOnly    = failed("READONLY You can't write against a read only replica.")
	errOutOfMemory = failed("OOM command not allowed when used memory > 'maxmemory'.")
	errBusy        = failed("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
)

func wrongNumber(command string) reply {
	return failed("ERR wrong number of arguments for '" + strings.ToLower(command) + "' command")
}

// oneLine is what Redis makes of a text that has to be on one line.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// appendTo appends the reply as RESP2.
func (r reply) appendTo(b []byte) []byte {
	switch r.kind {
	case null:
		return append(b, "$-1\r\n"...)
	case integer:
		b = strconv.AppendInt(append(b, ':'), r.n, 10)
	case bulk:
		b = strconv.AppendInt(append(b, '$'), int64(len(r.text)), 10)
		b = append(append(b, "\r\n"...), r.text...)
	case status:
		b = append(append(b, '+'), oneLine.Replace(r.text)...)
	case failure:
		b = append(append(b, '-'), oneLine.Replace(r.text)...)
	case array:
		b = strconv.AppendInt(append(b, '*'), int64(len(r.items)), 10)
		b = append(b, "\r\n"...)
		fallthrough
	case several:
		for _, item := range r.items {
			b = item.appendTo(b)
		}
		return b
	}
	return append(b, "\r\n"...)
}
