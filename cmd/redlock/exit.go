package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/redlock-go/redlock/internal/printable"
)

// The exit statuses. A command that was run gives its own, or 128 + the signal
// that ended it. The others are those of sysexits.h and of shells, so that a
// script can tell "try later" (75) from "it may have run beside another" (76).
const (
	exitOK          = 0
	exitFailed      = 1   // the demo's verdict
	exitStale       = 1   // the hold that was asked for does not stand
	exitNoVote      = 1   // the change was made, and the member does not vote all the same
	exitUsage       = 64  // EX_USAGE: bad input, nothing was done
	exitUnavailable = 69  // EX_UNAVAILABLE: masters of our own could not be started
	exitNotPrinted  = 74  // EX_IOERR: it was done, and stdout does not have all that was to be printed
	exitNotObtained = 75  // EX_TEMPFAIL: the lock was not obtained, nothing was run
	exitNotDone     = 75  // EX_TEMPFAIL: the masters do not answer, or cannot be used for it now
	exitLost        = 76  // the lock was lost while the command ran
	exitCannotRun   = 126 // found, but cannot be run
	exitNotFound    = 127
	exitSignal      = 128 // plus its number
)

// statusHelp is the part of a help text that tells the exit statuses.
func statusHelp(rows ...statusRow) string {
	text := "\n\nExit status:\n"
	for _, r := range rows {
		text += fmt.Sprintf("\n  %-8v  %s", r.status, r.means)
	}
	return text + "\n\n"
}

// notPrinted is the row of all commands that print what they were asked for.
var notPrinted = statusRow{exitNotPrinted, "as 0, but stdout could not be written"}

type statusRow struct {
	status any
	means  string
}

// complain prints each error on a line of its own.
func complain(err error) {
	for _, line := range lines(err) {
		fmt.Fprintln(os.Stderr, "redlock: "+line)
	}
}

// lines takes joined errors apart, without the prefix that the library's have.
func lines(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		var all []string
		for _, e := range joined.Unwrap() {
			all = append(all, lines(e)...)
		}
		return all
	}
	return []string{oneLine(err)}
}

// oneLine is an error as it may be printed: some of its words may be a server's.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redlock: ")
	text = strings.ReplaceAll(text, "\n", "; ") // between errors that were joined
	return printable.Text(flagsOfFiles.Replace(strings.Join(strings.Fields(text), " ")))
}
