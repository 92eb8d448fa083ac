package main

import (
	"fmt"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// luaToken matches what Lua reads as one: a comment and a string too, so that nothing is changed in
// them. The first group is an operator, or a word that stands for one.
var luaToken = regexp.MustCompile(`--[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(==|~=|<=|>=|[<>+*/-]|\band\b|\bor\b|\bnot |\bmath\.max\b|\bmath\.min\b)`)

// luaChanges are what each becomes, one mutant each.
var luaChanges = map[string][]string{
	"==": {"~="}, "~=": {"=="},
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
	"and": {"or"}, "or": {"and"}, "not ": {""},
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"},
	"math.max": {"math.min"}, "math.min": {"math.max"},
}

// edit is a change of a script: it replaces text by to.
type edit struct {
	id       int
	file     string // without its folder
	at       int    // in bytes
	text, to string
}

// luaEdits returns the changes of a script, and their places in it. A minus before a number alone
// is left: it cannot become a plus.
func luaEdits(path string, source []byte) (edits []edit, at []token.Position) {
	before := "" // the text since the last token
	end := 0
	for _, found := range luaToken.FindAllSubmatchIndex(source, -1) {
		before, end = strings.TrimSpace(string(source[end:found[0]])), found[1]
		if found[2] < 0 {
			continue
		}
		text := string(source[found[2]:found[3]])
		if text == "-" && (before == "" || strings.HasSuffix(before, "(") || strings.HasSuffix(before, ",") ||
			strings.HasSuffix(before, "=") || strings.HasSuffix(before, "return")) {
			continue
		}
		for _, to := range luaChanges[text] {
			edits = append(edits, edit{file: filepath.Base(path), at: found[2], text: text, to: to})
			at = append(at, token.Position{Filename: path, Line: 1 + strings.Count(string(source[:found[2]]), "\n")})
		}
	}
	return edits, at
}

// luaSource is package scripts with these changes, of which it makes the chosen one.
func luaSource(edits []edit) []byte {
	var out strings.Builder
	out.WriteString(`package scripts

import (
	"embed"

	mutant__ "` + mutantPackage + `"
)

//go:embed *.lua
var embedded embed.FS

type files struct{}

var Files files

func (files) ReadFile(name string) ([]byte, error) {
	source, err := embedded.ReadFile(name)
	for _, e := range edits {
		if e.file == name && mutant__.On(e.id) {
			source = []byte(string(source[:e.at]) + e.to + string(source[e.at+len(e.text):]))
		}
	}
	return source, err
}

var edits = []struct {
	id       int
	file     string
	at       int
	text, to string
}{
`)
	for _, e := range edits {
		fmt.Fprintf(&out, "\t{%d, %q, %d, %q, %q},\n", e.id, e.file, e.at, e.text, e.to)
	}
	out.WriteString("}\n")
	return []byte(out.String())
}
