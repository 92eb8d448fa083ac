package main

import (
	"strings"
	"unicode/utf8"
)

// tone is what a piece of text means, which its color says too.
type tone int

const (
	plain tone = iota
	strong
	faint
	good
	warn
	bad
)

var colors = [...]string{plain: "", strong: "\x1b[1m", faint: "\x1b[2m", good: "\x1b[32m", warn: "\x1b[33m", bad: "\x1b[31m"}

const (
	resetColor = "\x1b[0m"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	upLine     = "\x1b[A"
	clearBelow = "\r\x1b[J"
	clearRight = "\x1b[K"
)

// span is a piece of a line.
type span struct {
	tone tone
	text string
}

// render returns a line of at most width characters: one that wrapped would
// make the next redraw begin in the wrong place.
func render(line []span, width int, color bool) string {
	var b strings.Builder
	for _, s := range line {
		text := cut(s.text, width)
		width -= utf8.RuneCountInString(text)
		if color && s.tone != plain && text != "" {
			text = colors[s.tone] + text + resetColor
		}
		b.WriteString(text)
	}
	return b.String()
}

// cut shortens text to width characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width, 0)])
}
