package script

import (
	"fmt"
	"slices"
	"strings"
)

// Three kinds of lines in a script are replaced:
//   - "-- dispatch: NAMES" by branches that run the operations with these names. In the script, k
//     is the index of the operation's first key, and a is the index of its name.
//   - "-- dispatch usual cases: NAMES" by branches with the texts of the operations' files. Such a text
//     defines no function. It sets reply, or changes nothing. It runs only if the master votes, or the
//     operation needs no vote.
//   - "-- text: NAME" by the text of that file.

// dispatched returns source with all these lines replaced.
func dispatched(source string) string {
	var all strings.Builder
	for line := range strings.Lines(source) {
		directive, names, is := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case is && directive == "-- dispatch":
			all.WriteString(branches(names, call))
		case is && directive == "-- dispatch usual cases":
			all.WriteString(dispatched(branches(names, usualCase)))
		case is && directive == "-- text":
			all.WriteString(files(names))
		default:
			all.WriteString(line)
		}
	}
	return all.String()
}

// branches returns the text with a branch for each of these operations. The given function returns what
// is in a branch.
func branches(names string, branch func(*Operation) (condition, text string)) string {
	var all strings.Builder
	begin := "if"
	for name := range strings.FieldsSeq(names) {
		o := operations[slices.IndexFunc(operations, func(o *Operation) bool { return o.Name == name })]
		condition, text := branch(o)
		fmt.Fprintf(&all, "%s operation == '%s'%s then\n%s", begin, o.Name, condition, text)
		begin = "elseif"
	}
	return all.String()
}

// step returns the text that moves k and a to the next operation.
func (o *Operation) step() string {
	return fmt.Sprintf("k, a = k + %d, a + %d\n", len(o.keys), 1+len(o.args))
}

// call returns the text that calls the operation's function. If the operation needs a vote, the text
// calls the function through voted (see run.lua).
func call(o *Operation) (condition, text string) {
	voted := "voted"
	if o.NoVote {
		voted = "pcall"
	}
	open := strings.LastIndex(o.run, "(")
	words := []string{o.run[:open]}
	for word := range strings.SplitSeq(strings.TrimSuffix(o.run[open+1:], ")"), ", ") {
		words = append(words, o.value(word))
	}
	return "", fmt.Sprintf("_, reply = %s(%s)\n%s", voted, strings.Join(words, ", "), o.step())
}

// usualCase returns the text of the operation's file, with the keys and arguments as variables.
func usualCase(o *Operation) (condition, text string) {
	if !o.NoVote {
		condition = " and votes"
	}
	var names, values []string
	for _, key := range o.keys {
		names = append(names, keyNames[key])
	}
	names = append(names, o.args...)
	for _, name := range names {
		values = append(values, o.value(name))
	}
	return condition, fmt.Sprintf("local %s = %s\n%sif reply then\n%send\n", strings.Join(names, ", "), strings.Join(values, ", "), files(o.Name), o.step())
}

// value returns the script's expression for a key or an argument of the operation. It returns any other
// word unchanged.
func (o *Operation) value(word string) string {
	if i := slices.Index(o.keys, slices.Index(keyNames, word)); i == 0 {
		return "KEYS[k]"
	} else if i > 0 {
		return fmt.Sprintf("KEYS[k + %d]", i)
	} else if i := slices.Index(o.args, word); i >= 0 {
		return fmt.Sprintf("ARGV[a + %d]", i+1)
	}
	return word
}
