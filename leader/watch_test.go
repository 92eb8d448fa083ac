package leader

import "testing"

// Each term is reported once, and only if it has certainly begun.
func TestReportedTerms(t *testing.T) {
	t.Parallel()
	none := Leader{}
	asking, leading, next := Leader{Term: "a"}, Leader{Term: "a", Token: 7}, Leader{Term: "b", Token: 8}
	for _, c := range []struct {
		claim    string
		answers  []Leader
		reported string // for each answer: 1 if it is reported
	}{
		{"nobody leads", []Leader{none, none}, "00"},
		{"one leads", []Leader{none, leading, leading}, "010"},
		{"one that is asking yet", []Leader{asking, none}, "00"},
		{"… has its token later", []Leader{asking, leading, leading}, "010"},
		{"… never shows it", []Leader{asking, asking, asking}, "010"},
		{"… was not seen twice in a row", []Leader{asking, none, asking, none}, "0000"},
		{"… is followed by another that is", []Leader{asking, {Term: "b"}, {Term: "b"}}, "001"},
		{"… is followed by another that leads", []Leader{asking, next}, "01"},
		{"the token is not seen any more", []Leader{leading, asking, asking}, "100"},
		{"too few answer meanwhile", []Leader{leading, none, leading}, "100"},
		{"another leads", []Leader{leading, next, next}, "110"},
		{"another leads after a time without", []Leader{leading, none, next}, "101"},
		{"one leads again, with another term", []Leader{leading, none, {Term: "c", Token: 9}}, "101"},
	} {
		var seen terms
		got := ""
		for _, now := range c.answers {
			if seen.next(now) {
				got += "1"
			} else {
				got += "0"
			}
		}
		if got != c.reported {
			t.Errorf("%s: reported %s, want %s", c.claim, got, c.reported)
		}
	}
}
