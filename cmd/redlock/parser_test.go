package main

import (
	"reflect"
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

// Each string that a command takes, as a flag or at its place, is decoded to the byte.
func TestArgumentsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	parser := newParser()
	kept := func(what string, value reflect.Value) {
		t.Helper()
		if value.Kind() == reflect.Slice && value.Len() == 1 {
			value = value.Index(0)
		}
		if value.String() != allBytes {
			t.Errorf("%s became %q", what, value)
		}
	}
	looked := 0
	for _, p := range places(parser.Model.Node, "") {
		if len(shown(p.node)) > 0 {
			continue // no command without another behind it, which has the same flags
		}
		args := strings.Fields(p.path)
		for _, arg := range p.node.Positional {
			if arg.Enum != "" {
				args = append(args, strings.Split(arg.Enum, ",")[0])
			} else if !arg.Passthrough {
				args = append(args, allBytes)
			}
		}
		for _, flag := range p.flags {
			if kind := flag.Target.Kind(); kind != reflect.String && kind != reflect.Slice {
				continue
			}
			for _, given := range [][]string{{"--" + flag.Name, allBytes}, {"--" + flag.Name + "=" + allBytes}} {
				if _, err := parser.Parse(append(args[:len(args):len(args)], given...)); err != nil {
					t.Fatalf("redlock %s %q: %v", p.path, given, err)
				}
				kept("redlock "+p.path+" --"+flag.Name, flag.Target)
				looked++
			}
			for _, arg := range p.node.Positional {
				if arg.Enum == "" && !arg.Passthrough {
					kept("redlock "+p.path+" "+arg.Name, arg.Target)
				}
			}
		}
	}
	if looked < 100 {
		t.Errorf("only %d values of flags were looked at", looked)
	}
}

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
