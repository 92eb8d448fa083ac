package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/redlock-go/redlock/internal/documents"
	"github.com/redlock-go/redlock/internal/harness"
)

// Every redlock command in a document exists, with its flags. A command on a line of its own can also be
// parsed.
func TestCommandsInDocuments(t *testing.T) {
	t.Parallel()
	all, err := documents.All("../..")
	harness.Must(t, err)
	named, whole := 0, 0
	for _, d := range all {
		for _, c := range d.Commands() {
			arguments, is := ofRedlock(c.Words)
			if !is {
				continue
			}
			named++
			err := knows(arguments)
			if err == nil && c.Whole && !placeholder.MatchString(strings.Join(arguments, " ")) {
				whole++
				_, err = newParser().Parse(arguments)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", c.Where, strings.Join(c.Words, " "), err)
			}
		}
	}
	if named < 50 || whole < 10 {
		t.Errorf("%d commands, and %d on lines of their own", named, whole)
	}
}

// placeholder matches words that the reader must replace, and --help and --version, at which the parser exits.
var placeholder = regexp.MustCompile(`\b[A-Z]{3,}\b|\bN\b|\$|…|--help\b|--version\b`)

// ofRedlock returns the arguments of a redlock command, however it is started.
func ofRedlock(words []string) (arguments []string, is bool) {
	switch {
	case len(words) > 1 && (words[0] == "redlock" || words[0] == "./redlock") && words[1][0] != '(':
		return words[1:], true
	case len(words) > 3 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/redlock":
		return words[3:], true
	}
	return nil, false
}

// knows returns an error if the arguments name a command or a flag that does not exist.
func knows(arguments []string) error {
	node := newParser().Model.Node
	for _, argument := range arguments {
		switch {
		case argument == "--":
			return nil
		case strings.HasPrefix(argument, "-"):
			name, _, _ := strings.Cut(argument, "=")
			if node.DefaultCmd != nil {
				node = node.DefaultCmd
			}
			if !slices.ContainsFunc(slices.Concat(node.AllFlags(false)...), func(flag *kong.Flag) bool {
				return name == "--"+flag.Name || flag.Short != 0 && name == "-"+string(flag.Short)
			}) {
				return fmt.Errorf("no flag %s", name)
			}
		default:
			child := slices.IndexFunc(node.Children, func(child *kong.Node) bool { return child.Name == argument })
			switch {
			case child >= 0:
				node = node.Children[child]
			case node.Parent == nil:
				return fmt.Errorf("no command %s", argument)
			}
		}
	}
	return nil
}
