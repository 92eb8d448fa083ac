// Package e2e shows the whole of it at work: the lock on real masters, a holder in a process of its
// own that is stopped past its lease, and each guard in front of a real store. It has tests, and no
// code.
//
// Programs in Python do the same by an agent.
//
// It is a module of its own for the sake of the drivers.
package e2e
