// Command redlock runs commands while holding a Redlock quorum lock, and shows in a demo what the
// lock and its fencing tokens do when masters die and a holder is paused. "redlock help" and
// "redlock help run" tell the rest.
//
// Goroutines: run has one that waits for the lock and one that waits for the child; the demo has
// one for each worker, one for the faults and one that draws. Each is waited for, except the one
// for a child that has already been reported.
package main

import "os"

func main() { os.Exit(stdout.status(dispatch(os.Args[1:]))) }
