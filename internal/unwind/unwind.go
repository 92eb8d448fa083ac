// Package unwind cleans up after a function that does not return.
//
// An observer may panic, or end its goroutine (runtime.Goexit), in the middle of a call that locks
// or unlocks. The caller then gets no result. So nothing may remain that only the caller could end.
package unwind

// OrElse calls f. If f does not return, it calls undo, and the panic or exit goes on.
func OrElse(f, undo func()) {
	returned := false
	defer func() {
		if !returned {
			undo()
		}
	}()
	f()
	returned = true
}
