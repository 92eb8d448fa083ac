// Command redlock runs commands while holding a Redlock quorum lock, serves locks to programs in
// other languages, and shows and changes what the masters have. "redlock help" lists the commands.
//
// Goroutines of redlock run: one waits for the lock, and one waits for the child. redlock run waits until the
// first has ended, and until the second has reported the child's end.
package main

import "os"

func main() { os.Exit(stdout.status(dispatch(os.Args[1:]))) }
