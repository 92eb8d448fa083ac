package lease

import "time"

// Downgrade makes the hold a reader's in this client, and returns the ttl of the extension that
// makes it a reader's on the masters. The caller calls Unblock after that. It returns ErrWriters,
// and changes nothing, if another entry writes.
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
