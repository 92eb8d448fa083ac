package lease

import "time"

// Downgrade makes a reader of the hold, here: an extension by the ttl that it returns makes one of
// it on the masters, and Unblock comes after that. It returns ErrWriters if another entry writes,
// and then nothing has changed.
func (e *Entry) Downgrade() (ttl time.Duration, err error) {
	h := e.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.entries.writers > 1 || h.entries.writers == 1 && !e.writes {
		return 0, ErrWriters
	}
	h.entries.writers, e.writes = 0, false
	h.Reads.Store(true)
	return h.renewals.terms.TTL, nil
}
