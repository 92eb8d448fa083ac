package lease

import (
	"testing"
)

// An Unlock has counted the last entry, and not ended the hold yet: a re-entry at that moment would
// ask for depth 1, which is a fresh acquisition.
func TestReEntryBesideTheLastUnlock(t *testing.T) {
	h := holdOf(3)
	h.entries.depth--
	if _, _, err := h.Reenter(false, false); err != ErrReleased || h.entries.depth != 0 {
		t.Errorf("entered with %v, at depth %d", err, h.entries.depth)
	}
}
