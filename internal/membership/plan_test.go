package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/rogue"
	"github.com/redlock-go/redlock/internal/script"
)

func TestUnfitServers(t *testing.T) {
	fit := "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
	valkey := strings.ReplaceAll(fit, "redis_mode", "server_mode")
	if why := ParseInfo(valkey).unfit(); why != "" {
		t.Errorf("a plain Valkey server is refused: %s", why)
	}
	for _, mode := range []string{"sentinel", "cluster"} {
		says := map[string]string{"sentinel": "NewFailoverClient", "cluster": "Cluster"}[mode]
		if why := ParseInfo(valkey + "server_mode:" + mode + "\r\n").unfit(); !strings.Contains(why, says) {
			t.Errorf("Valkey in the mode %s: %q does not say %q", mode, why, says)
		}
	}
	if why := ParseInfo(fit).unfit(); why != "" {
		t.Errorf("a plain server is refused: %s", why)
	}
	for change, word := range map[string]string{
		"redis_version:5.0.14":                           "version",
		"redis_mode:cluster":                             "Cluster",
		"cluster_enabled:1":                              "Cluster",
		"redis_mode:sentinel":                            "NewFailoverClient",
		"role:slave":                                     "primary",
		"maxmemory:1\r\nmaxmemory_policy:allkeys-lru":    "noeviction",
		"maxmemory:100\r\nmaxmemory_policy:volatile-ttl": "noeviction",
	} {
		if why := ParseInfo(fit + change + "\r\n").unfit(); !strings.Contains(why, word) {
			t.Errorf("%q: %q does not say %q", change, why, word)
		}
	}
	if why := ParseInfo(fit + "maxmemory_policy:allkeys-lru\r\n").unfit(); why != "" {
		t.Errorf("without maxmemory nothing is evicted, but it is refused: %s", why)
	}
}

func TestReadAdmitted(t *testing.T) {
	for value, want := range map[string]struct{ in, bad bool }{
		"":                           {false, false},
		"in aa 2 4096 yes":           {true, false},
		"in bb 2 4096 yes":           {false, false},
		"out aa 17":                  {false, false},
		"in aa 1 4096 yes":           {false, true},
		"in aa 2 1024 no":            {false, true},
		AdmittedValue("aa", durable): {true, false},
	} {
		if in, err := readAdmitted(value, "aa"); in != want.in || (err != nil) != want.bad {
			t.Errorf("%q: %v, %v", value, in, err)
		}
	}
}

func TestDurability(t *testing.T) {
	for text, want := range map[string]durability{
		"appendonly yes appendfsync always no-appendfsync-on-rewrite no":   durable,
		"appendonly no appendfsync always no-appendfsync-on-rewrite no":    NotDurable,
		"appendonly yes appendfsync everysec no-appendfsync-on-rewrite no": NotDurable,
		"appendonly yes appendfsync always no-appendfsync-on-rewrite yes":  NotDurable,
		"appendonly yes appendfsync everysec":                              NotDurable,
		"appendonly yes appendfsync always":                                unknown,
		"":                                                                 unknown,
	} {
		config := map[string]string{}
		for pair := range slices.Chunk(strings.Fields(text), 2) {
			config[pair[0]] = pair[1]
		}
		if got := durabilityOf(config); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestPlanAdmission(t *testing.T) {
	const quarantine = time.Minute
	const unix = 1000
	// One letter a master: i in, with counters at 50 + its index; r restarted just now with old counters; R the same, a
	// quarantine ago; a restarted with every write on disk; n never used; e empty just now; E the same, a quarantine ago; b in, but
	// one of its two buckets lost just now; B the same, a quarantine ago; . no answer.
	deployment := func(letters string) []*Survey {
		surveys := make([]*Survey, len(letters))
		for i, l := range letters {
			s := &Survey{Run: string(l), Since: "1", Counters: []int64{50 + int64(i), 70}}
			switch l {
			case 'i':
				s.in, s.Since = true, "0"
			case 'r':
				s.Counters = []int64{7, 7}
			case 'R':
				s.Counters, s.outFor = []int64{7, 7}, quarantine
			case 'a':
				s.Since, s.outFor = "0", 9*quarantine
			case 'n':
				s.Counters, s.fresh = []int64{0, 0}, true
			case 'e':
				s.Counters = []int64{0, 0}
			case 'E':
				s.Counters, s.outFor = []int64{0, 0}, quarantine
			case 'b':
				s.in, s.Counters = true, []int64{0, 70}
			case 'B':
				s.in, s.Counters, s.outFor = true, []int64{0, 70}, quarantine
			case '.':
				s = nil
			}
			surveys[i] = s
		}
		return surveys
	}
	for _, c := range []struct {
		claim, masters string
		want           string // a master's: = nothing to do, . not in it, w waits, ! needs init, else the first counter's floor
	}{
		{"all admitted", "iiiii", "= = = = ="},
		{"a new deployment starts at the Unix time", "nnnnn", "1000 1000 1000 1000 1000"},
		{"… but not before all masters answer", "nnnn.", "w w w w ."},
		{"all were emptied: they wait", "eeeee", "w w w w w"},
		{"… also when one was not noticed before", "nnnne", "w w w w w"},
		{"… and start at the Unix time", "EEEEE", "1000 1000 1000 1000 1000"},
		{"… when the last quarantine is over", "EEEEe", "w w w w w"},
		{"one that restarted waits", "riiii", "w = = = ="},
		{"… and is then raised to the others'", "Riiii", "54 = = = ="},
		{"one that lost all waits", "eiiii", "w = = = ="},
		{"… and is then raised to the others'", "Eiiii", "54 = = = ="},
		{"one lost counter waits", "biiii", "w = = = ="},
		{"… and is then raised", "Biiii", "54 = = = ="},
		{"one that forgot nothing is in at once", "aiiii", "0 = = = ="},
		{"all that forgot nothing are in at once", "aaaaa", "0 0 0 0 0"},
		{"two of five may learn from the other three", "REiii", "54 54 = = ="},
		{"with one of those silent they may not", "REii.", "w w = = ."},
		{"with a quorum of others they need not all answer", "Riii.", "53 = = = ."},
		{"a power cut: all wait", "rrrrr", "w w w w w"},
		{"… one waits yet", "RRRRr", "w w w w w"},
		{"… and are then raised together", "RRRRR", "1000 1000 1000 1000 1000"},
		{"three restarted: together, when all answer", "RRRii", "1000 1000 1000 1000 1000"},
		{"… not when one is silent", "RRRi.", "w w w = ."},
		{"a majority that lost its counters needs an operator", "EEEii", "! ! ! = ="},
		{"one master, restarted", "R", "1000"},
		{"one master, never used", "n", "1000"},
		{"one master, empty", "e", "w"},
		{"who cannot vote is no source", "Rbiii", "54 w = = ="},
		{"… and with it there are too few", "Rbii.", "w w = = ."},
	} {
		surveys := deployment(c.masters)
		plan := MakePlan(surveys, errors.New("not asked"), len(surveys)/2+1, quarantine, unix)
		for i, want := range strings.Fields(c.want) {
			got := "="
			switch {
			case plan.Floors[i] != nil:
				got = fmt.Sprint(plan.Floors[i][0])
			case errors.Is(plan.out[i], ErrNeedsInit):
				got = "!"
			case plan.out[i] != nil:
				got = "w"
			case surveys[i] == nil:
				got = "."
			}
			if got != want {
				t.Errorf("%s: %s: master %d: %s (%v), want %s", c.claim, c.masters, i, got, plan.out[i], want)
			}
			if plan.out[i] != nil && !errors.Is(plan.out[i], script.ErrNotAdmitted) {
				t.Errorf("%s: %v is no ErrNotAdmitted", c.claim, plan.out[i])
			}
		}
	}
}

func TestWhyAServerSitsOut(t *testing.T) {
	for _, x := range []struct {
		claim  string
		survey Survey
		want   string
	}{
		{"it was never used", Survey{fresh: true, Counters: []int64{0, 0}}, "is new or lost all its data"},
		{"it was emptied", Survey{Counters: []int64{0, 0}}, "is new or lost all its data"},
		{"it restarted", Survey{Counters: []int64{5, 6}}, "restarted or lost data"},
		{"it lost some counters", Survey{Counters: []int64{5, 0}}, "restarted or lost data"},
		{"it lost all counters, and was not restarted", Survey{in: true, Counters: []int64{0, 0}}, "restarted or lost data"},
	} {
		plan := MakePlan([]*Survey{&x.survey, {in: true, Counters: []int64{5, 6}}, {in: true, Counters: []int64{5, 6}}}, nil, 2, time.Minute, 1)
		if plan.out[0] == nil || !strings.Contains(plan.out[0].Error(), "it "+x.want+", and sits out") {
			t.Errorf("%s: %v, want %q", x.claim, plan.out[0], x.want)
		}
	}
}

func TestSightings(t *testing.T) {
	seen := sightings{of: make(map[string]sighting)}
	for _, c := range []struct {
		claim, server, since string
		now                  time.Duration
		want                 time.Duration
	}{
		{"first seen now", "a", "1", 5, 0},
		{"four later", "a", "1", 9, 4},
		{"another server", "b", "1", 9, 0},
		{"it lost something again", "a", "2", 10, 0},
		{"… and is out since then", "a", "2", 13, 3},
	} {
		if got := seen.outFor(c.server, c.since, clock.Instant(c.now)); got != c.want {
			t.Errorf("%s: %v, want %v", c.claim, got, c.want)
		}
	}
}

func FuzzSurvey(f *testing.F) {
	f.Add(rogue.RunID, "", "1700000000000", "1700000000000", "0", 1)
	f.Add(rogue.RunID, "in x 2 4096 yes", "9223372036854775807", "-9223372036854775808", "9223372036854775807", 1)
	f.Add("", "out", "0", "", "-1", 0)
	f.Fuzz(func(t *testing.T, run, admitted, now, since, counter string, counters int) {
		reply := []string{run, admitted, now, since}
		for range counters % 8 {
			reply = append(reply, counter)
		}
		s, err := ParseSurvey(reply, 1)
		if err != nil {
			return
		}
		if len(s.Counters) != 1 || s.Counters[0] < 0 || s.Counters[0] > script.MaxCounter {
			t.Errorf("%q is read as %+v", reply, s)
		}
		MakePlan([]*Survey{s, nil, {Counters: []int64{1}}}, nil, 2, time.Minute, 1)
	})
}
