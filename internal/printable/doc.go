// Package printable makes text, errors and durations fit for a line on a terminal or in a log. It
// must not know where they come from, or where they go.
package printable
