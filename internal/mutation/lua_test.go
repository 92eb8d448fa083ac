package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What stands in comments and strings stays, as does a minus that is a sign.
func TestLuaEdits(t *testing.T) {
	source := `-- a == b and not c
local x = '<' .. "a or b" -- a < b
if not y and x ~= 'it\'s > 1' or n - 1 <= 2 then
  return -1, math.max(-n, 2)
end`
	var got []string
	edits, at := luaEdits("scripts/a.lua", []byte(source))
	for i, e := range edits {
		if source[e.at:e.at+len(e.text)] != e.text {
			t.Errorf("%d: no %q", e.at, e.text)
		}
		got = append(got, fmt.Sprintf("%v %s %q to %q", at[i], e.file, e.text, e.to))
	}
	want := []string{
		`scripts/a.lua:3 a.lua "not " to ""`,
		`scripts/a.lua:3 a.lua "and" to "or"`,
		`scripts/a.lua:3 a.lua "~=" to "=="`,
		`scripts/a.lua:3 a.lua "or" to "and"`,
		`scripts/a.lua:3 a.lua "-" to "+"`,
		`scripts/a.lua:3 a.lua "<=" to "<"`,
		`scripts/a.lua:3 a.lua "<=" to ">"`,
		`scripts/a.lua:4 a.lua "math.max" to "math.min"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
