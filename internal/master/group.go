package master

// Gather calls submit(). Requests that are queued for these masters during this call are not sent before
// submit() has returned. So they leave in one batch for each master, as far as a batch has room. Requests
// that were queued before do not wait. submit() must not block.
func Gather(masters []*Master, submit func()) {
	for _, m := range masters {
		m.gather(1)
	}
	defer func() { // even if submit panics
		for _, m := range masters {
			m.gather(-1)
			m.nudge()
		}
	}()
	submit()
}

func (m *Master) gather(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gathering += n; m.gathering == 0 {
		m.ungathered = 0
	} else {
		m.ungathered = len(m.queue)
	}
}
