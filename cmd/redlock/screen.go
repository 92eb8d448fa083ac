package main

import (
	"bytes"
	"os"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// screen is a terminal on which something is redrawn in place.
type screen struct {
	out   *output
	color bool
	drawn int // lines on it
}

// newScreen returns stdout, if it is a terminal of at least this size that can be redrawn, or nil.
func newScreen(columns, rows int) *screen {
	c, r, err := term.GetSize(int(stdout.file.Fd()))
	if err != nil || c < columns || r < rows || !redraws(os.Getenv("TERM")) {
		return nil
	}
	return &screen{out: stdout, color: os.Getenv("NO_COLOR") == ""}
}

// redraws reports whether a terminal of this name knows the escape sequences of the panel. One
// without a name may be a Windows console, which prints them.
func redraws(terminal string) bool { return terminal != "" && terminal != "dumb" }

// print replaces what was printed before. It is one write, so that no terminal shows half of it.
func (s *screen) print(before string, lines []string, after string) {
	columns, _ := s.size()
	var b bytes.Buffer
	b.WriteString(before)
	if s.drawn > 0 {
		b.WriteString(ansi.CursorUp(s.drawn))
	}
	b.WriteByte('\r')
	for _, line := range lines {
		b.WriteString(fit(line, columns, s.color) + ansi.EraseLineRight + "\n")
	}
	b.WriteString("\r" + ansi.EraseScreenBelow + after)
	_, _ = s.out.Write(b.Bytes()) // to a closed terminal: nobody is looking
	s.drawn = len(lines)
}

// size is asked each time: windows are resized.
func (s *screen) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(s.out.file.Fd()))
	if err != nil {
		return panelColumns, panelRows // it has gone; what is written goes nowhere
	}
	return columns, rows
}
