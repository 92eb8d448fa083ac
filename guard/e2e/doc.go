// Package e2e tests the whole: the lock on real masters, a holder whose process is stopped
// past its lease, and each guard in front of a real store. It has tests only.
//
// Programs in Python are tested in the same way, with an agent.
//
// The package is a module of its own because of the database drivers.
package e2e
