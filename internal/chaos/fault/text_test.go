package fault

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyFault draws a fault of any kind that its own parameters can print.
func anyFault(t *rapid.T) Fault {
	f := Fault{Kind: rapid.SampledFrom(Kinds()).Draw(t, "kind")}
	any := Fault{
		Clients:   All,
		Masters:   Masters(rapid.Uint64Range(1, 1<<63).Draw(t, "masters")),
		Passwords: rapid.SampledFrom([]Passwords{Old, OldNew, New}).Draw(t, "passwords"),
		Counter:   rapid.SampledFrom([]Counter{Above, Rounded, Last, Negative, Text}).Draw(t, "counter"),
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
	if f.Kind == Evict {
		any.Percent = rapid.Float64Range(0, 100).Draw(t, "share")
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

func TestFaultsArePrintedAndReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault(t)
		if got, err := Parse(f.String()); err != nil || got != f {
			t.Fatalf("%s was read as %#v, %v; want %#v", f, got, err, f)
		}
	})
}

func TestPrintedForm(t *testing.T) {
	t.Parallel()
	for text, f := range map[string]Fault{
		"kill(m2,lost,1.2s)":                   {Kind: Kill, Masters: MastersOf(2), Data: Lost, Span: 1200 * time.Millisecond},
		"partition(c1,m0+m3,to-server,800ms)":  {Kind: Partition, Clients: "c1", Masters: MastersOf(3, 0), Direction: ToServer, Span: 800 * time.Millisecond},
		"clock(m0+m1+m2,-30s,2s)":              {Kind: Clock, Masters: 7, Offset: -30 * time.Second, Span: 2 * time.Second},
		"drift(m1,-0.5%,2s)":                   {Kind: Drift, Masters: 2, Percent: -0.5, Span: 2 * time.Second},
		"cut(c1+c2,m0,to-client,7,3,1s)":       {Kind: Cut, Clients: ClientsOf("c2", "c1", "c2"), Masters: 1, Direction: ToClient, Bytes: 7, Every: 3, Span: time.Second},
		"replace(m1,m5,40ms,2s)":               {Kind: Replace, Masters: MastersOf(1), Spare: MastersOf(5), Delay: 40 * time.Millisecond, Span: 2 * time.Second},
		"suspend(m1+m2,0s,2s)":                 {Kind: Suspend, Masters: 6, Span: 2 * time.Second},
		"flushall(m63)":                        {Kind: FlushAll, Masters: MastersOf(63)},
		"stop-client(*,3s)":                    {Kind: StopClient, Clients: All, Span: 3 * time.Second},
		"strobe(m0,1m0s,200ms,1s)":             {Kind: Strobe, Masters: 1, Offset: time.Minute, Period: 200 * time.Millisecond, Span: time.Second},
		"promote(m1,500ms)":                    {Kind: Promote, Masters: 2, Delay: 500 * time.Millisecond},
		"drop-reply(*,m0+m1+m2+m3+m4,5,1m40s)": {Kind: DropReply, Clients: All, Masters: 31, Every: 5, Span: 100 * time.Second},
		"rolling-restart(m0+m1,0s)":            {Kind: RollingRestart, Masters: 3},
		"delay(a_B-9,m0,5ms,1s)":               {Kind: Delay, Clients: "a_B-9", Masters: 1, Delay: 5 * time.Millisecond, Span: time.Second},
		"old-file(m0,1s,200ms)":                {Kind: OldFile, Masters: 1, Delay: time.Second, Span: 200 * time.Millisecond},
		"replicaof(m0+m2,m1,200ms)":            {Kind: ReplicaOf, Masters: 5, Spare: 2, Span: 200 * time.Millisecond},
		"astray(*,m0,m6,1s)":                   {Kind: Astray, Clients: All, Masters: 1, Spare: MastersOf(6), Span: time.Second},
		"restore(m0+m2,1s,200ms)":              {Kind: Restore, Masters: 5, Delay: time.Second, Span: 200 * time.Millisecond},
		"evict(m1,12.5%)":                      {Kind: Evict, Masters: 2, Percent: 12.5},
		"spoil(m0+m1,above)":                   {Kind: Spoil, Masters: 3, Counter: Above},
		"password(m0,both)":                    {Kind: Password, Masters: 1, Passwords: OldNew},
		"force(n12,40ms)":                      {Kind: Force, Lock: 12, Delay: 40 * time.Millisecond},
		"truncate(m0,37,0s)":                   {Kind: Truncate, Masters: 1, Bytes: 37},
	} {
		if got := f.String(); got != text {
			t.Errorf("printed %s, want %s", got, text)
		}
		if got, err := Parse(text); err != nil || got != f {
			t.Errorf("%s was read as %#v, %v", text, got, err)
		}
	}
}

func TestWhatIsNoFault(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                             "kind(parameters)",
		"thaw(m0":                      "kind(parameters)",
		"melt(m0)":                     "no kind",
		"thaw()":                       "no master",
		"thaw(m0+m64)":                 "no master",
		"thaw(0)":                      "no master",
		"thaw(m0,1s)":                  "2 parameters",
		"kill(m0,some,1s)":             "none of",
		"kill(m0,lost,1)":              "no duration",
		"freeze(m0,-1s)":               "no duration",
		"truncate(m0,-1,1s)":           "no number from 0",
		"duplicate(c1,m0,0,1s)":        "no number from 1",
		"late-copy(c1,m0,5ms,0,1s)":    "no number from 1",
		"drift(m0,1,1s)":               "no percentage",
		"drift(m0,NaN%,1s)":            "no percentage",
		"evict(m0,101%)":               "no percentage",
		"evict(m0,-1%)":                "no percentage",
		"spoil(m0,7)":                  "none of",
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
		"truncate(m0,1,1s)":                   false,
		"restore(m0,1s,1s)":                   false,
		"evict(m0,1%)":                        false,
		"spoil(m0+m1,above)":                  true,
		"spoil(m0+m1+m2,above)":               false,
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
