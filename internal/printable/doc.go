// Package printable makes text, errors and durations fit for a line on a terminal or in a log. It
// must not depend on their source or destination.
package printable
