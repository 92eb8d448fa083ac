package redlock

// An observer may panic, or end its goroutine (runtime.Goexit), in the middle of a call that locks or
// unlocks. The caller gets nothing then. So nothing may stay behind that only the caller could end.

// orElse calls f. If f does not return, it calls undo, and the panic goes on.
func orElse(f, undo func()) {
	returned := false
	defer func() {
		if !returned {
			undo()
		}
	}()
	f()
	returned = true
}

// endEach ends and releases all holds, also when an observer does not return from one of them.
func endEach(holds []*hold, cause error) {
	for i, h := range holds {
		orElse(func() { h.end(cause) }, func() {
			h.release(0, nil)
			endEach(holds[i+1:], cause)
		})
		h.release(0, nil)
	}
}

// freeAnyway is for a hold whose end was told to an observer that did not return, before the
// masters and the other callers of this client were told.
func (h *hold) freeAnyway() {
	h.client.forget(h)
	h.release(0, nil)
}
