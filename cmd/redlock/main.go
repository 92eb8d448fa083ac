// Command redlock runs commands while holding a Redlock quorum lock, and shows
// in a demo what the lock and its fencing tokens do when masters die and a holder
// is paused. "redlock help" and "redlock help run" tell the rest.
//
// Goroutines: run has one that waits for the lock and one that waits for the
// child; the demo has one for each worker, one for the faults and one that draws.
// Each is waited for, except the one for a child that has already been reported.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	os.Exit(dispatch(os.Args[1:]))
}

// dispatch runs the command that args name and returns the exit status.
func dispatch(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	switch rest := args[1:]; args[0] {
	case "run":
		return runCommand(rest)
	case "demo":
		return demoCommand(rest)
	case "init":
		return initCommand(rest)
	case "version", "--version", "-version":
		fmt.Println(version())
		return exitOK
	case "help", "--help", "-help", "-h":
		return help(rest)
	}
	complain(fmt.Errorf("unknown command %q: give run, demo, init, version or help", args[0]))
	return exitUsage
}

// version tells from what the binary was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "redlock (built without module information)"
	}
	text := "redlock " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}
