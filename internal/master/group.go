package master

import "github.com/redlock-go/redlock/internal/script"

// MaxGroup bounds how many requests may leave as one.
const MaxGroup = maxBatch

// SubmitGroup queues requests that leave in one batch, one right behind the other, or not at all.
// It never blocks.
func (m *Master) SubmitGroup(group []*Request) {
	m.mu.Lock()
	refused := m.refusal(group[0])
	if refused == nil {
		for i, r := range group {
			r.behind = len(group) - 1 - i
		}
		m.queue = append(m.queue, group...)
	}
	m.mu.Unlock()
	m.nudge()
	if refused != nil {
		for _, r := range group {
			m.tell(r, script.Vote{Answer: script.Refused, Err: refused})
		}
	}
}

// Gather calls submit, and lets nothing leave for these masters meanwhile. So what it submits
// leaves for each in one batch, as far as a batch has room. It must not block. What was queued
// before does not wait for it.
func Gather(masters []*Master, submit func()) {
	for _, m := range masters {
		m.gather(1)
	}
	defer func() { // also when submit panics
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
