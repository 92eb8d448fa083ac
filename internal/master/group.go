package master

// Gather calls submit, and sends nothing to these masters meanwhile. So the requests of submit
// leave for each master in one batch, as far as a batch has room. submit must not block. Requests
// that were queued before do not wait for submit.
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
