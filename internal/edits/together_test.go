package edits

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

const program = `package main

import (
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/scripts"
)

type words struct{}

func (words) unnamed(int, ...string) string { return "unnamed" }

func (*words) named(_ int, all ...string) (said string) {
	said = strings.Join(all, "")
	return said
}

func plain() {
	fmt.Print("plain ")
}

func generic[T any](v T) T { return v }

var outside = "outside"

func main() {
	lua, _ := scripts.Files.ReadFile("a.lua")
	plain()
	fmt.Print(words{}.unnamed(1, "a"), " ", (&words{}).named(1, "b", "c"), " ", generic(1), " ", outside, " ", string(lua))
}
`

// One program has all changes, and is as before without one. What is no edit of a function's body
// has to be built by itself.
func TestChangesAreBuiltTogether(t *testing.T) {
	t.Parallel()
	root, scratch := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{"go.mod": "module github.com/redlock-go/redlock\n\ngo 1.26\n", "main.go": program, "scripts/a.lua": "lua"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(file, old, new string) Edit { return Edit{File: file, Old: old, New: new} }
	all := NewTogether(root, scratch)
	want := map[string]string{envChosen + "=": "plain unnamed bc 1 outside lua"}
	for i, c := range []struct {
		edits []Edit
		says  string // empty: it is built by itself
	}{
		{[]Edit{in("main.go", `{ return "unnamed" }`, `{ return "changed" }`)}, "plain changed bc 1 outside lua"},
		{[]Edit{in("main.go", "	said = strings.Join(all, \"\")\n", "	said = strings.Join(all, \"-\")\n")}, "plain unnamed b-c 1 outside lua"},
		{[]Edit{in("main.go", "	fmt.Print(\"plain \")\n", "")}, "unnamed bc 1 outside lua"},
		{[]Edit{in("main.go", "	return said\n", "	return said + said\n")}, "plain unnamed bcbc 1 outside lua"},
		{[]Edit{in("scripts/a.lua", "lua", "changed"), in("main.go", "{ return v }", "{ var none T; return none }")}, "plain unnamed bc 0 outside changed"},
		{[]Edit{in("main.go", `outside = "outside"`, `outside = "changed"`)}, ""},
		{[]Edit{in("main.go", "func plain() {\n", "func plain() {}\n\nfunc other() {\n")}, ""},
	} {
		name := strconv.Itoa(i)
		is, err := all.Add(name, c.edits)
		if err != nil || is != (c.says != "") {
			t.Fatalf("change %d is built with the others: %v, %v", i, is, err)
		}
		if is {
			want[all.Env(name)] = c.says
		}
	}
	overlay, err := all.Write()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(scratch, "binary")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, ".")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for env, says := range want {
		run := exec.Command(binary)
		run.Env = append(os.Environ(), env)
		if said, err := run.CombinedOutput(); err != nil || string(said) != says {
			t.Errorf("with %s: %q, %v; want %q", env, said, err, says)
		}
	}
}
