package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/redlock-go/redlock/internal/printable"
)

// The exit statuses. A command that was run gives its own, or 128 + the signal that ended it. The
// others are those of sysexits.h and of shells, so that a script can tell "another has it" (75)
// from "the masters are down" (69) and "it may have run beside another" (76).
const (
	exitOK          = 0
	exitStale       = 1   // the hold that was asked for does not stand
	exitNoVote      = 1   // the change was made, and the member does not vote all the same
	exitWarning     = 1   // doctor found nothing worse than a warning
	exitFault       = 2   // doctor found a fault
	exitUsage       = 64  // EX_USAGE: bad input, nothing was done
	exitUnavailable = 69  // EX_UNAVAILABLE: too few masters answer, or can be used, or could be started
	exitNotPrinted  = 74  // EX_IOERR: it was done, and stdout does not have all that was to be printed
	exitHeld        = 75  // EX_TEMPFAIL: another holds the lock, nothing was run
	exitDeclined    = 75  // the answer was no, or another holds the lock by now; nothing was done
	exitLost        = 76  // the lock was lost while the command ran
	exitCannotRun   = 126 // found, but cannot be run
	exitNotFound    = 127
	exitSignal      = 128 // plus its number
)

// complain prints each error on a line of its own.
func complain(err error) {
	for _, line := range lines(err) {
		fmt.Fprintln(os.Stderr, "redlock: "+line)
	}
}

// lines takes joined errors apart, without the prefix that the library's have.
func lines(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{oneLine(err)}
	}
	var texts, all []string
	for _, e := range joined.Unwrap() {
		texts = append(texts, oneLine(e))
		all = append(all, lines(e)...)
	}
	once := func(text string) string { return strings.ReplaceAll(text, "; redlock: ", "; ") }
	if once(oneLine(err)) != once(strings.Join(texts, "; ")) { // it says more than its parts
		return []string{oneLine(err)}
	}
	return all
}

// oneLine is an error as it may be printed: some of its words may be a server's.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redlock: ")
	text = strings.ReplaceAll(text, "\n", "; ") // between errors that were joined
	return printable.Text(flagsOfFiles.Replace(strings.Join(strings.Fields(text), " ")))
}
