package printable

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		`plain, "quoted", C:\x1b, né 日本 …`: `plain, "quoted", C:\x1b, né 日本 …`,
		"ERR \x1b[2J\x1b]0;title\a\r\n\t":  `ERR \x1b[2J\x1b]0;title\a\r\n\t`,
		"\x00\x7f\u009b31m\x9b\u202e":      `\x00\x7f\u009b31m\x9b\u202e`,
	} {
		got := Text(text)
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if twice := Text(got); twice != got {
			t.Errorf("%q: escaped twice is %q", text, twice)
		}
	}
}
