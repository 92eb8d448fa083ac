package docs_test

import (
	"strings"
	"testing"
)

// A page that is to be read at one sitting has no more words than these.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, most := range map[string]int{
		"../README.md": 1200, "PROTOCOL.md": 5500, "CHAOS.md": 3000, "MODEL.md": 3000,
	} {
		if words := len(strings.Fields(read(t, page))); words > most {
			t.Errorf("%s has %d words, and may have %d: shorten it, or give what is new a page of its own", page, words, most)
		}
	}
}
