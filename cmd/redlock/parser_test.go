package main

import (
	"slices"
	"strings"
	"testing"
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
