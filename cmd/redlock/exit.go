package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/redlock-go/redlock/internal/printable"
)

// The exit statuses. redlock run returns the status of COMMAND, or 128 + the number of the signal that ended COMMAND.
// The other statuses are those of sysexits.h and of shells. A script can distinguish "another holder" (75), "the
// masters are down" (69) and "another may have run at the same time" (76).
const (
	exitOK          = 0
	exitStale       = 1   // the hold of the given token is over
	exitNoVote      = 1   // the change was made, but the member does not vote
	exitWarning     = 1   // the worst finding of doctor is a warning
	exitFault       = 2   // doctor found a fault
	exitUsage       = 64  // EX_USAGE: bad input, nothing was done
	exitUnavailable = 69  // EX_UNAVAILABLE: too few masters answer, can be used, or could be started
	exitNotPrinted  = 74  // EX_IOERR: done, but the output on stdout is not complete
	exitHeld        = 75  // EX_TEMPFAIL: another holds the lock; nothing was run
	exitDeclined    = 75  // the answer was no, or the holder changed; nothing was done
	exitLost        = 76  // the lock was lost while the command ran
	exitCannotRun   = 126 // COMMAND was found, but cannot be run
	exitNotFound    = 127 // COMMAND was not found
	exitSignal      = 128 // plus the number of the signal
)

// complain prints an error on stderr. If the error joins several errors, each of these gets a line.
func complain(err error) {
	for _, line := range lines(err) {
		fmt.Fprintln(os.Stderr, "redlock: "+line)
	}
}

// lines returns the errors joined in err, without the library's prefix.
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
	if once(oneLine(err)) != once(strings.Join(texts, "; ")) { // err has more text than its parts
		return []string{oneLine(err)}
	}
	return all
}

// oneLine returns the text of an error as one printable line, because parts of it may come from a server.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redlock: ")
	text = strings.ReplaceAll(text, "\n", "; ") // between joined errors
	return printable.Text(flagsOfFiles.Replace(strings.Join(strings.Fields(text), " ")))
}
