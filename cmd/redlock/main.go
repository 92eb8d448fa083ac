// Command redlock runs commands while holding a Redlock quorum lock, serves locks to programs in
// other languages, and shows and changes what the masters have. "redlock help" lists the commands.
//
// Goroutines: run has one that waits for the lock and one that waits for the child. It waits for the
// first to end, and for the second to report the child's end.
package main

import "os"

func main() { os.Exit(stdout.status(dispatch(os.Args[1:]))) }
