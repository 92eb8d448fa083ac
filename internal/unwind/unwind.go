// Package unwind cleans up after a function that does not return.
//
// An observer may panic, or end its goroutine (runtime.Goexit), in the middle of a call that locks
// or unlocks. Then the caller gets no result, so nothing may remain that only the caller could end.
package unwind

// OrElse calls f(). If f() does not return, OrElse calls undo(), and the panic or exit goes on.
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
