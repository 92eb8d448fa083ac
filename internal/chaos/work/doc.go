// Package work is the work of a client process of a chaos run: several workers that acquire locks, hold them for longer
// or shorter than the lease, and write to stores meanwhile. The workers record the beginning and the end of every call
// (package history), and judge nothing.
//
// Command client runs the workers of one client in a process of their own, against real masters. Package sim runs
// several clients in one process, in virtual time.
package work
