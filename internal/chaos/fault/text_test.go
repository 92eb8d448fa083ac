package fault

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyFault draws a fault of any kind. The fault has only the parameters of its kind.
func anyFault(t *rapid.T) Fault {
	f := Fault{Kind: rapid.SampledFrom(Kinds()).Draw(t, "kind")}
	any := Fault{
		Clients:   All,
		Masters:   Masters(rapid.Uint64Range(1, 1<<63).Draw(t, "masters")),
		Passwords: rapid.SampledFrom([]Passwords{Old, OldNew, New}).Draw(t, "passwords"),
		Data:      rapid.SampledFrom([]Data{Kept, Lost}).Draw(t, "data"),
		Direction: rapid.SampledFrom([]Direction{ToServer, ToClient, Both}).Draw(t, "direction"),
		Bytes:     rapid.IntRange(0, 1<<30).Draw(t, "bytes"),
		Lock:      rapid.IntRange(0, 1<<30).Draw(t, "lock"),
		Every:     rapid.IntRange(1, 1000).Draw(t, "every"),
		Offset:    time.Duration(rapid.Int64().Draw(t, "offset")),
		Period:    time.Duration(rapid.Int64Min(0).Draw(t, "period")),
		Percent:   rapid.Float64Range(-99.9, 999).Draw(t, "percent"),
		Delay:     time.Duration(rapid.Int64Min(0).Draw(t, "delay")),
		Span:      time.Duration(rapid.Int64Min(0).Draw(t, "span")),
	}
	if names := rapid.SliceOf(rapid.StringMatching(`[A-Za-z0-9_-]{1,5}`)).Draw(t, "clients"); len(names) > 0 {
		any.Clients = ClientsOf(names...)
	}
	if any.Spare = MastersOf(rapid.IntRange(0, 63).Draw(t, "spare")); f.Kind == Replace {
		any.Masters = MastersOf(rapid.IntRange(0, 63).Draw(t, "master"))
	}
	if f.Kind == Cut && any.Direction == Both {
		any.Direction = ToClient
	}
	for _, p := range kinds[f.Kind].params {
		if err := p.parse(&f, p.print(any)); err != nil {
			t.Fatalf("%s: %v", f.Kind, err)
		}
	}
	return f
}

func TestFaultStringRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault(t)
		if got, err := Parse(f.String()); err != nil || got != f {
			t.Fatalf("%s was read as %#v, %v; want %#v", f, got, err, f)
		}
	})
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                             "kind(parameters)",
		"flushall(m0":                  "kind(parameters)",
		"melt(m0)":                     "no kind",
		"flushall()":                   "no master",
		"flushall(m0+m64)":             "no master",
		"flushall(0)":                  "no master",
		"flushall(m0,1s)":              "2 parameters",
		"kill(m0,some,1s)":             "none of",
		"kill(m0,lost,1)":              "no duration",
		"freeze(m0,-1s)":               "no duration",
		"duplicate(c1,m0,0,1s)":        "no number from 1",
		"late-copy(c1,m0,5ms,0,1s)":    "no number from 1",
		"drift(m0,1,1s)":               "no percentage",
		"drift(m0,NaN%,1s)":            "no percentage",
		"password(m0,some)":            "none of",
		"partition(,m0,both,1s)":       "no client",
		"partition(c 1,m0,both,1s)":    "no client",
		"partition(c1,m0,sideways,1s)": "none of",
		"cut(c1,m0,both,1,1,1s)":       "one direction",
		"force(2,0s)":                  "no lock",
		"force(n-1,0s)":                "no lock",
		"force(n,0s)":                  "no lock",
		"force(n2)":                    "1 parameters",
		"replace(m0+m1,m5,0s,1s)":      "one master is replaced",
		"astray(*,m0,m1+m2,1s)":        "one server",
	} {
		if f, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q was read as %v, %v; want an error with %q", text, f, err, why)
		}
	}
}

func TestInModel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"kill(m0+m1+m2+m3+m4,kept,1s)":        true,
		"kill(m0+m1,lost,1s)":                 true,
		"kill(m0+m1+m2,lost,1s)":              false,
		"restore(m0,1s,1s)":                   false,
		"password(m0+m1+m2,both)":             true,
		"refuse(m0+m1+m2,1s)":                 true,
		"flushall(m0+m1)":                     true,
		"flushall(m0+m1+m2)":                  false,
		"promote(m0+m1+m2,1s)":                false,
		"clock(m0,1h,1s)":                     false,
		"strobe(m0,1h,1s,1s)":                 false,
		"drift(m0+m1+m2+m3+m4,1%,1s)":         true,
		"drift(m0,1.1%,1s)":                   false,
		"drift(m0,-1%,1s)":                    false,
		"partition(*,m0+m1+m2+m3+m4,both,1s)": true,
		"kill-client(*,1s)":                   true,
		"force(n0,0s)":                        true,
		"stop-client(c1,1s)":                  false,
	} {
		f, err := Parse(text)
		if err != nil || f.InModel(5) != want {
			t.Errorf("%s: in the model %t, want %t (%v)", text, !want, want, err)
		}
	}
}
