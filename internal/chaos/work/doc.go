// Package work is what a client process of a chaos run does: several workers that take locks, hold
// them for longer or shorter than their lease, and write under them to stores. They write down
// every call before and after it (package history), and judge nothing.
//
// Command client runs them in a process of their own, against real masters; package sim runs
// several in one process, in virtual time.
package work
