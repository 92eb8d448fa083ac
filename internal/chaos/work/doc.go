// Package work is the work of a client process of a chaos run: several workers that acquire locks, hold
// them for longer or shorter than their lease, and write under them to stores. They record
// every call before and after it (package history), and judge nothing.
//
// Command client runs them in a process of their own, against real masters; package sim runs
// several in one process, in virtual time.
package work
