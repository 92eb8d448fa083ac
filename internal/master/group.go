package master

// Gather calls submit(). Requests that are queued for these masters during this call are not sent before
// submit() has returned. So they leave in one batch for each master, as far as a batch has room. Requests
// that were queued before do not wait. submit() must not block. If calls overlap, the end of each call frees the
// requests of all: otherwise, calls without a pause would keep requests from leaving.
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
	m.gathering += n
	if n > 0 {
		return
	}
	for _, r := range m.gathered {
		m.enqueue(r)
	}
	clear(m.gathered)
	m.gathered = m.gathered[:0]
}
