// Package printable makes text safe for a terminal or a log. It knows text and errors. It
// must not know where a text comes from, or where it goes.
package printable
