// Command redlock runs commands while holding a Redlock quorum lock, serves locks to programs in
// other languages, and shows and changes what the masters have. "redlock help" lists the commands.
//
// Goroutines: run has one that waits for the lock and one that waits for the child. Each is waited
// for, except the one for a child that has already been reported.
package main

import "os"

func main() { os.Exit(stdout.status(dispatch(os.Args[1:]))) }
