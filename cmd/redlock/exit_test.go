package main

import (
	"errors"
	"testing"
)

func TestLines(t *testing.T) {
	t.Parallel()
	a, b := errors.New("redlock: one\n  and more"), errors.New("redlock: two")
	got := lines(errors.Join(a, errors.Join(b)))
	if len(got) != 2 || got[0] != "one; and more" || got[1] != "two" {
		t.Errorf("%q", got)
	}
}

// The words of a server do not control the terminal.
func TestServerWordsAreEscaped(t *testing.T) {
	t.Parallel()
	evil := errors.New("ERR \x1b[2J\x1b]0;title\a")
	const want = `ERR \x1b[2J\x1b]0;title\a`
	if got := lines(errors.Join(evil, evil)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("lines are %q", got)
	}
}
