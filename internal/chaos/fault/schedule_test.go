package fault

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func anyPlan(t *rapid.T) Plan {
	return Plan{
		Masters:    rapid.SampledFrom([]int{1, 3, 5, 7}).Draw(t, "masters"),
		Spares:     rapid.IntRange(0, 2).Draw(t, "spares"),
		Clients:    [][]string{nil, {"c0"}, {"c0", "c1", "c2"}}[rapid.IntRange(0, 2).Draw(t, "clients")],
		Locks:      rapid.IntRange(0, 2).Draw(t, "locks"),
		For:        time.Duration(rapid.IntRange(0, 120).Draw(t, "for")) * time.Second,
		TTL:        time.Duration(rapid.IntRange(100, 5000).Draw(t, "ttl")) * time.Millisecond,
		InModel:    rapid.Bool().Draw(t, "in model"),
		Quarantine: time.Duration(rapid.IntRange(0, 20).Draw(t, "quarantine")) * time.Second,
	}
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed, p := rapid.Uint64().Draw(t, "seed"), anyPlan(t)
		s := Generate(seed, p)
		if second := Generate(seed, p); !reflect.DeepEqual(s, second) {
			t.Fatalf("the same seed gives\n%s\nand\n%s", s, second)
		}
		if read, err := ParseSchedule(s.String()); err != nil || !slices.Equal(read, s) {
			t.Fatalf("%s\nwas read as\n%s%v", s, read, err)
		}
		if p.InModel && !s.InModel(p.Masters, p.Quarantine) {
			t.Fatalf("not in the model:\n%s", s)
		}
		for _, one := range s {
			if f := one.Fault; f.Clients != "" && p.Clients == nil {
				t.Fatalf("%s was not wanted", f)
			}
			if f := one.Fault; f.Kind.is(changes) && p.Spares == 0 || f.Masters|f.Spare >= 1<<(p.Masters+p.Spares) {
				t.Fatalf("%s, and there are %d spares", f, p.Spares)
			}
			if f := one.Fault; f.Kind == Force && f.Lock >= p.Locks {
				t.Fatalf("%s, and there are %d locks", f, p.Locks)
			}
			if one.At > p.For {
				t.Fatalf("%s begins after %s, at %s", one.Fault, p.For, one.At)
			}
		}
	})
}

// A run has single faults, pairs of faults, and all faults at once. It has faults of each kind.
func TestGenerateHasEveryKind(t *testing.T) {
	t.Parallel()
	for _, inModel := range []bool{true, false} {
		p := Plan{
			Masters: 5, Spares: 2, Clients: []string{"c0", "c1"}, Locks: 3, For: 5 * time.Minute, TTL: time.Second,
			InModel: inModel, Quarantine: 3 * time.Second,
		}
		came := map[Kind]bool{}
		together := map[time.Duration]int{}
		for _, one := range Generate(1, p) {
			came[one.Fault.Kind] = true
			if one.Fault.Kind != KillClient { // a KillClient may come with other faults
				together[one.At]++
			}
		}
		for _, k := range Kinds() {
			if !came[k] && !k.is(scripted) && !(inModel && k.is(outside)) {
				t.Errorf("in model %t: no %s", inModel, k)
			}
			if came[k] && k.is(scripted) {
				t.Errorf("in model %t: %s was drawn", inModel, k)
			}
		}
		for at, n := range together {
			least, most := 1, len(Kinds())
			switch {
			case at < p.For/3:
				most = 1
			case at < p.For*2/3:
				most = 2
			default:
				least = 5
			}
			if n < least || n > most {
				t.Errorf("in model %t: %d faults begin at %s", inModel, n, at)
			}
		}
	}
}

// Schedules out of the model have faults that can break the promises.
func TestGenerateOutOfModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		s := Generate(seed, Plan{Masters: 5, Clients: []string{"c0"}, For: time.Minute, TTL: time.Second})
		out := 0
		for _, one := range s {
			if !one.Fault.InModel(5) {
				out++
			}
		}
		if out < 5 || s.InModel(5, 0) {
			t.Errorf("seed %d: %d faults out of the model", seed, out)
		}
	}
}

// Out of the model, a round has no fault after which a majority's loss of data may stay unnoticed.
func TestRoundHasNoUnnoticedLoss(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		p := Plan{Masters: 5, Spares: 2, Clients: []string{"c0", "c1"}, TTL: time.Second, Quarantine: 3 * time.Second}
		s := Round(seed, p, time.Minute, time.Minute)
		if within := s.Before(time.Minute); len(within) == 0 || !within.InModel(5, p.Quarantine) {
			t.Errorf("seed %d: not in the model: %s", seed, within)
		}
		for _, one := range s.From(time.Minute) {
			if k := one.Fault.Kind; k == Promote || k == Restore || k == OldFile {
				t.Errorf("seed %d: %s", seed, one.Fault)
			}
		}
	}
}

func TestSuccessiveLosses(t *testing.T) {
	t.Parallel()
	s, err := ParseSchedule("0s kill(m0+m1,lost,1s)\n\n10s flushall(m2)\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.InModel(5, 8*time.Second) || !s.InModel(5, 6*time.Second) {
		t.Error("the first loss is over after 3 s and a quarantine")
	}
	if s, err = ParseSchedule("0s replace(m0,m5,0s,1s)\n10s flushall(m1+m2)\n"); err != nil {
		t.Fatal(err)
	}
	if s.InModel(5, 4*time.Second) || !s.InModel(5, 3*time.Second) {
		t.Error("a replaced member is back after 3 s and two quarantines")
	}
}

// A master whose AOF was off may lack data after a restart, unless it became a new member before.
func TestNonDurableRestarts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0s aof-off(m0+m1+m2,1s)":                                                    true,
		"0s aof-off(m0+m1+m2,1s)\n30s kill(m0+m1+m3,kept,1s)":                        true,
		"0s aof-off(m0+m1+m2,1s)\n30s kill(m0+m1+m2,kept,1s)":                        false,
		"0s aof-off(m0+m1+m2,1s)\n30s rolling-restart(m0+m1+m2+m3+m4,0s)":            false,
		"0s aof-off(m0+m1+m2,1s)\n30s flushall(m0)\n60s kill(m0+m1+m2,kept,1s)":      true,
		"0s aof-off(m0+m1,1s)\n30s rolling-restart(m0+m1+m2+m3+m4,0s)":               true,
		"0s aof-off(m0+m1,1s)\n30s old-file(m2,1s,1s)\n31s kill(m0+m1,kept,1s)":      false,
		"0s cache(m0+m1,1s)\n1s replicaof(m2,m1,1s)":                                 false,
		"0s astray(*,m0+m1+m2+m3,m4,1s)\n1s replicaof(m2+m3,m1,1s)\n9s cache(m0,0s)": true,
	} {
		s, err := ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		if is := s.InModel(5, 4*time.Second); is != want {
			t.Errorf("in model %t, want %t:\n%s", is, want, text)
		}
	}
}
