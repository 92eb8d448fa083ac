package lease

import "time"

// Downgrade turns the hold into a reader's hold in this client, and returns the ttl of the
// extension that does the same on the masters. After a success the caller must send that extension,
// and call Unblock. Downgrade returns ErrWriters, and changes nothing, if another entry writes.
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
