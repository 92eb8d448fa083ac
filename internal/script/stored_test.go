package script

import "testing"

func TestParseStored(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Stored{
		"":                          {},
		"a.b 17 ":                   {Owner: "a.b", Grant: 17},
		"a.b 17 19+":                {Owner: "a.b", Grant: 17, Token: 19},
		"- a.b 17 19":               {Owner: "a.b", Grant: 17, Token: 19, Lingers: true},
		"- a.b 17 ":                 {Owner: "a.b", Grant: 17, Lingers: true},
		" redlock:waits:a":          {KeptFor: "redlock:waits:a"},
		" ":                         {Other: true},
		"a.b 2":                     {Other: true},
		"a.b x 17 ":                 {Other: true},
		"a.b 17 19++":               {Other: true},
		"a.b 99999999999999999999 ": {Other: true},
		"- a.b 17 19+":              {Other: true},
		"written by hand":           {Other: true},
	} {
		if got := ParseStored(value); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
}
