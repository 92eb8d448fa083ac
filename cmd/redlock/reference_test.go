package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/redlock-go/redlock/internal/harness"
)

var update = flag.Bool("update", false, "write docs/CLI.md")

// docs/CLI.md is the output of redlock help, with the flags about the masters once, and
// without the sections that readers look up while using the command. With -update the test writes it.
func TestReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/CLI.md"
	var b strings.Builder
	b.WriteString("# The commands\n\nThis page is made from `redlock help` (`go test ./cmd/redlock -run TestReference -update` writes it). `redlock help COMMAND` also has examples, the fields of `--json`, and rare cases. The flags for the masters are the same everywhere: see [The masters](#the-masters). The commands of `redlock members` have its exit statuses, and `--json`.\n")
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
		left := onlyHelp
		if strings.Contains(path, " ") {
			left = ofParent
		}
		text := reference(help.String(), left)
		if flags := flagsOfMasters.FindString(text); flags != "" {
			if masters == "" {
				masters = flags
			}
			if paragraph(flags) != paragraph(masters) {
				t.Errorf("redlock %s has other flags for masters than the first command:\n%s", path, flags)
			}
			text = strings.Replace(text, flags, "      --masters=URLS and others that are the same everywhere: see The masters.\n", 1)
		}
		b.WriteString("\n## " + strings.TrimSpace("redlock "+path) + "\n\n```\n" + text + "```\n")
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

// commandsOf are the commands of a node that have help, with their parents.
func commandsOf(node *kong.Node, path string) []string {
	all := []string{path}
	for _, child := range shown(node) {
		if child.Name != "help" && child.Name != "version" {
			all = append(all, commandsOf(child, strings.TrimSpace(path+" "+child.Name))...)
		}
	}
	return all
}

// flagsOfMasters are the lines of help from --masters to --prefix.
var flagsOfMasters = regexp.MustCompile(`(?m)^      --masters=URLS(?:.*\n)+?      --prefix=NAME.*\n(?: {10,}.*\n)*`)

// paragraph is text with one space between words: where lines break depends on the other flags.
func paragraph(text string) string { return strings.Join(strings.Fields(text), " ") }

// section begins a section of a page of help: a paragraph that ends with a colon, or a list of
// kong.
var section = regexp.MustCompile(`(?m)^[^ \n][^\n]*(?:\n[^ \n][^\n]*)*:\n`)

// onlyHelp matches the sections that docs/CLI.md leaves out, and ofParent those that it leaves out for a
// command behind another one.
var (
	onlyHelp = regexp.MustCompile(`^(?:Example|Signals:|When |Why |--json |and behind |Commands:\n  members )`)
	ofParent = regexp.MustCompile(`^(?:Example|Signals:|When |Why |Exit status:|Flags:)`)
)

// ownHelp is the flag that each command has, and noFlags the title of a list without any other.
var (
	ownHelp = regexp.MustCompile(`  -h, --help +Show context-sensitive help\.\n\n?`)
	noFlags = regexp.MustCompile(`Flags:\n(Commands:|$)`)
)

// reference is a page of help without the sections that are left out, and without empty ones.
func reference(help string, left *regexp.Regexp) string {
	starts := section.FindAllStringIndex(help, -1)
	if len(starts) == 0 {
		return help
	}
	kept := help[:starts[0][0]]
	for i, at := range starts {
		end := len(help)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if text := help[at[0]:end]; !left.MatchString(text) {
			kept += text
		}
	}
	kept = noFlags.ReplaceAllString(ownHelp.ReplaceAllString(kept, ""), "$1")
	return strings.TrimRight(kept, "\n") + "\n"
}
