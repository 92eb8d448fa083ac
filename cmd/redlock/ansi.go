package main

import "github.com/charmbracelet/x/ansi"

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

var styles = [...]ansi.Style{
	plain:  {},
	strong: ansi.Style{}.Bold(),
	faint:  ansi.Style{}.Faint(),
	good:   ansi.Style{}.ForegroundColor(ansi.Green),
	warn:   ansi.Style{}.ForegroundColor(ansi.Yellow),
	bad:    ansi.Style{}.ForegroundColor(ansi.Red),
}

// of returns text with t's style.
func (t tone) of(text string) string { return styles[t].Styled(text) }

// fit returns a line of at most width columns: one that wrapped would make the next redraw begin in
// the wrong place. The last column tells that there is more.
func fit(line string, width int, color bool) string {
	if !color {
		line = ansi.Strip(line)
	}
	return ansi.Truncate(line, width, "…")
}
