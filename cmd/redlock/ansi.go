package main

import (
	"slices"
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
	for _, s := range cut(line, width) {
		text := s.text
		if color && s.tone != plain && text != "" {
			text = colors[s.tone] + text + resetColor
		}
		b.WriteString(text)
	}
	return b.String()
}

// cut shortens a line to width characters. The last of them tells that there is
// more.
func cut(line []span, width int) []span {
	whole := 0
	for _, s := range line {
		whole += utf8.RuneCountInString(s.text)
	}
	if whole <= width {
		return line
	}
	if width <= 0 {
		return nil
	}
	last := 0
	for {
		n := utf8.RuneCountInString(line[last].text)
		if n >= width {
			break
		}
		width -= n
		last++
	}
	end := span{line[last].tone, string([]rune(line[last].text)[:width-1]) + "…"}
	return append(slices.Clip(line[:last]), end)
}
