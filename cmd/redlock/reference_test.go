package main

import (
	"cmp"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/redlock-go/redlock/internal/harness"
)

var update = flag.Bool("update", false, "write docs/CLI.md")

// docs/CLI.md has the usage and the flags of each command, as redlock help prints them. It has the flags about the
// masters only once, and links to the rest of the help in cmd/redlock/help. With -update the test writes the page.
func TestReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/CLI.md"
	var b strings.Builder
	b.WriteString("# The commands\n\nThis page has the flags. Each title leads to the rest of `redlock help COMMAND`, with exit statuses and examples. Each command that connects to masters also has [these flags](#the-masters). Each command of `redlock members` also has `--json`.\n")
	var masters string
	for _, path := range commandsOf(newParser().Model.Node, "") {
		cmd := command(t, append(strings.Fields(path), "--help")...)
		cmd.Env = append(cmd.Env, "COLUMNS=80")
		r := runToEnd(t, cmd)
		r.wants(t, exitOK)
		var help strings.Builder
		for line := range strings.Lines(r.stdout) {
			help.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		flags := flagsOfMasters.FindString(help.String())
		masters = cmp.Or(masters, flags)
		if flags != "" && paragraph(flags) != paragraph(masters) {
			t.Errorf("redlock %s has other flags for masters than the first command:\n%s", path, flags)
		}
		title := "redlock"
		if path != "" {
			title = "[redlock " + path + "](../cmd/redlock/help/" + strings.ReplaceAll(path, " ", "-") + ".txt)"
		}
		b.WriteString("\n## " + title + "\n\n```\n" + reference(help.String(), strings.HasPrefix(path, "members")) + "```\n")
	}
	b.WriteString("\n## The masters\n\n```\n" + masters + "```\n")
	if *update {
		harness.Must(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	if string(text) != b.String() {
		t.Errorf("%s is not what redlock help prints: run this test with -update", file)
	}
}

// commandsOf returns the path of a node, and the paths of the commands below the node that have help.
func commandsOf(node *kong.Node, path string) []string {
	all := []string{path}
	for _, child := range shown(node) {
		if child.Name != "help" && child.Name != "version" && child.Name != "list" {
			all = append(all, commandsOf(child, strings.TrimSpace(path+" "+child.Name))...)
		}
	}
	return all
}

// paragraph returns text with one space between words, because the breaks of lines depend on other flags.
func paragraph(text string) string { return strings.Join(strings.Fields(text), " ") }

// These expressions match parts of a page of help. flagsOfMasters matches the lines from --masters to --prefix. intro
// matches usage, title and, in redlock's own help, examples. Each match of lists has a title and at least one line.
var (
	flagsOfMasters = regexp.MustCompile(`(?m)^      --masters=URLS(?:.*\n)+?      --prefix=NAME.*\n(?: {10,}.*\n)*`)
	ownHelp        = regexp.MustCompile(`(?m)^  -h, --help .*\n\n?`)
	intro          = regexp.MustCompile(`^(?:(?:.+\n)+\n){2}(?:(?:  .+\n)+\n)?`)
	lists          = regexp.MustCompile(`(?m)^(?:Arguments|Commands|Flags):\n(?:\n* .*\n)+`)
)

// reference returns the part of a command's help that the page has, with its lists or without.
func reference(help string, noLists bool) string {
	kept := intro.FindString(help)
	if !noLists {
		kept += strings.Join(lists.FindAllString(ownHelp.ReplaceAllString(flagsOfMasters.ReplaceAllString(help, ""), ""), -1), "\n")
	}
	return strings.TrimRight(kept, "\n") + "\n"
}
