// Package printable makes texts, errors and durations fit for a line on a terminal or in a log. It
// must not depend on where these come from, or go to.
package printable
