package script

import "testing"

func TestParseNotice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Notice{
		"redlock:{7}:lock:job":               {LockKey: "redlock:{7}:lock:job"},
		"here m1":                            {Here: true, Member: "m1"},
		"here ":                              {Here: true}, // of a server that is no member
		"given m1 o 5 redlock:{7}:lock:a b":  {Member: "m1", Owner: "o", Grant: 5, LockKey: "redlock:{7}:lock:a b"},
		"given m1 o 5":                       {},
		"given  o 5 redlock:{7}:lock:job":    {},
		"given m1  5 redlock:{7}:lock:job":   {},
		"given m1 o 0 redlock:{7}:lock:job":  {},
		"given m1 o 5x redlock:{7}:lock:job": {},
		"given m1 o 4503599627370497 key":    {}, // above MaxCounter
	} {
		if got := ParseNotice(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
