package script

import (
	"fmt"
	"slices"
	"strings"
)

// A line "-- dispatch: NAMES" in a script is replaced by branches that run these operations. In "--
// dispatch while it votes: NAMES", branches of operations that need a vote run only if the master
// votes. Elsewhere, k is the index of the operation's first key and a that of its name.

// dispatched returns source with branches in place of such lines.
func dispatched(source string) string {
	var all strings.Builder
	for line := range strings.Lines(source) {
		voting, names, is := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case is && voting == "-- dispatch":
			all.WriteString(branches(names, "voted", ""))
		case is && voting == "-- dispatch while it votes":
			all.WriteString(branches(names, "pcall", " and votes"))
		default:
			all.WriteString(line)
		}
	}
	return all.String()
}

// branches returns the branches of the operations of these names. Operations that need a vote are
// called by voted, if condition is true.
func branches(names, voted, condition string) string {
	var all strings.Builder
	begin := "if"
	for name := range strings.FieldsSeq(names) {
		i := slices.IndexFunc(operations, func(o *Operation) bool { return o.Name == name })
		o := operations[i]
		call, condition := voted, condition
		if o.NoVote {
			call, condition = "pcall", ""
		}
		fmt.Fprintf(&all, "%s operation == '%s'%s then\n_, reply = %s(%s)\nk, a = k + %d, a + %d\n",
			begin, o.Name, condition, call, o.lua(), len(o.keys), 1+len(o.args))
		begin = "elseif"
	}
	return all.String()
}

// lua returns the operation's function with its arguments.
func (o *Operation) lua() string {
	open := strings.LastIndex(o.run, "(")
	words := []string{o.run[:open]}
	for word := range strings.SplitSeq(strings.TrimSuffix(o.run[open+1:], ")"), ", ") {
		if i := slices.Index(o.keys, slices.Index(keyNames, word)); i == 0 {
			word = "KEYS[k]"
		} else if i > 0 {
			word = fmt.Sprintf("KEYS[k + %d]", i)
		} else if i := slices.Index(o.args, word); i >= 0 {
			word = fmt.Sprintf("ARGV[a + %d]", i+1)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
