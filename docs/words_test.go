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

// mostWords is how many all documents may have together, as wc -w counts them: the bars of tables
// are words, too.
const mostWords = 42000

// Somebody who takes the project over can read all of it.
func TestDocumentsAreShort(t *testing.T) {
	words := 0
	for _, d := range all(t) {
		words += len(strings.Fields(d.Text))
	}
	if words > mostWords {
		t.Errorf("all documents have %d words, and may have %d: say what is new in place of something else", words, mostWords)
	}
}
