package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

// allBytes has each byte that an argument can have. It is not UTF-8.
var allBytes = func() string {
	var b []byte
	for i := 1; i <= 255; i++ {
		b = append(b, byte(i))
	}
	return string(b)
}()

func TestCutCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, own, command string }{
		{"run --name x -- cmd --name y", "run --name x", "cmd --name y"},
		{"run --name x cmd --name y", "run --name x", "cmd --name y"},
		{"run --name=x cmd -- y", "run --name=x", "cmd -- y"},
		{"run --name x -- -- cmd", "run --name x", "-- cmd"},
		{"run --name x - cmd", "run --name x", "- cmd"},
		{"run --verbose cmd", "run --verbose", "cmd"},
		{"run -E 0 cmd", "run -E 0", "cmd"},
		{"run -E0 cmd", "run -E0", "cmd"},
		{"run --max-ttl 1m --grace=0s cmd", "run --max-ttl 1m --grace=0s", "cmd"},
		{"run --no-such-flag cmd", "run --no-such-flag", "cmd"},
		{"run --name -- cmd", "run --name --", "cmd"}, // the parser refuses it
		{"run --name", "run --name", ""},
		{"run --", "run", ""},
		{"run", "run", ""},
		{"--help run cmd", "--help run cmd", ""},
		{"members add -- redis://a", "members add -- redis://a", ""},
	} {
		own, command := cutCommand(newParser().Model.Node, strings.Fields(c.args))
		if !slices.Equal(own, strings.Fields(c.own)) || !slices.Equal(command, strings.Fields(c.command)) {
			t.Errorf("%s: %q and %q, want %q and %q", c.args, own, command, c.own, c.command)
		}
	}
}

// The commands that redlock prints about a member can be parsed, once the operator has replaced NEW by a URL.
// This holds for each state of the member.
func TestPrintedCommandsParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/membership/testdata/situations/*")
	harness.Must(t, err)
	command, address, masters := regexp.MustCompile("redlock ((?:init|members) ?[^`;|\n]*)"), regexp.MustCompile(`^[a-z]$`), "--masters="
	for letter := 'a'; letter <= 'z'; letter++ { // the addresses of situations
		masters += "redis://" + string(letter) + ":1,"
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		harness.Must(t, err)
		for _, printed := range command.FindAllStringSubmatch(string(text), -1) {
			args := append(strings.Fields(printed[1]), strings.TrimSuffix(masters, ","))
			for i, arg := range args {
				args[i] = strings.Replace(address.ReplaceAllString(arg, "$0:1"), "NEW", "redis://new:1", 1)
			}
			parsed, err := newParser().Parse(args)
			if err == nil {
				err = parsed.Selected().Target.Addr().Interface().(subcommand).check()
				found[parsed.Command()] = true
			}
			if err != nil {
				t.Errorf("%s: redlock %s: %v", filepath.Base(file), printed[1], err)
			}
		}
	}
	for _, want := range []string{"init", "members replace <OLD> <NEW>"} {
		if !found[want] {
			t.Errorf("no situation prints redlock %s, only %v", want, found)
		}
	}
}
