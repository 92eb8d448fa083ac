package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// These tests check the decisions, which are pure functions of the servers' reports.

// table returns the table that a text describes, for example "a b:new c:suspended". "a=x" is a member with
// the address a and the id x.
func table(members string) *Table {
	t := &Table{Format: format, Buckets: script.Buckets, MaxTTL: 60_000, Drift: 0.01}
	for text := range strings.FieldsSeq(members) {
		address, state, _ := strings.Cut(text, ":")
		address, durable := strings.CutSuffix(address, "!")
		address, id, other := strings.Cut(address, "=")
		if !other {
			id = address
		}
		if state == "" {
			state = string(Voting)
		}
		t.Members = append(t.Members, Member{ID: id, State: State(state), Address: address, Durable: durable})
	}
	t.Prev = t.ids()
	return t
}

func (t *Table) String() string {
	var all []string
	for _, m := range t.Members {
		text := m.Address
		if m.ID != m.Address {
			text += "=" + m.ID
		}
		if m.Durable {
			text += "!"
		}
		if m.State != Voting {
			text += ":" + string(m.State)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// at returns the report of an intact server at a version.
func at(id, version string, t *Table) *report {
	return &report{run: "r", idRun: "r", up: time.Hour, deployment: "d", id: id, acceptedTable: acceptedTable{version: version, table: t}}
}

// worldOf returns a world with a master for each report (nil: no report). names has the masters' names. was
// has, for each master, the address of the member that the master was last.
func worldOf(v *View, names, was []string, reports []*report) world {
	w := world{view: v}
	if v != nil && v.Out == nil {
		v.Out = make([]error, len(reports))
	}
	for i, r := range reports {
		m := observed{report: r}
		if i < len(names) {
			m.name = names[i]
		}
		if i < len(was) {
			m.was = was[i]
		}
		w.masters = append(w.masters, m)
	}
	return w
}

// blank is the report of a server without data. lost returns the report of a server that restarted.
var blank = &report{run: "r", up: time.Hour}

func lost(id string) *report {
	return &report{run: "r", idRun: "before", up: time.Hour, deployment: "d", id: id}
}

func TestTableRoundTrip(t *testing.T) {
	want := table("a b:new c:suspended")
	got, err := parseTable(want.text())
	if err != nil || got.String() != want.String() || !slices.Equal(got.Prev, want.Prev) || got.MaxTTL != want.MaxTTL || got.Drift != want.Drift {
		t.Errorf("%v, %v", got, err)
	}
	if got.Quarantine() != time.Minute+600*time.Millisecond+2*time.Millisecond {
		t.Error(got.Quarantine())
	}
	longest, longer := fmt.Sprint(script.MaxRemaining.Milliseconds()), fmt.Sprint(script.MaxRemaining.Milliseconds()+1)
	for _, text := range []string{
		strings.Replace(want.text(), "60000", longest, 1),
		strings.Replace(want.text(), "60000", "1", 1),
		strings.Replace(want.text(), "0.01", "0", 1),
	} {
		if _, err := parseTable(text); err != nil {
			t.Errorf("%.70q: %v", text, err)
		}
	}
	for text, reason := range map[string]string{
		"":               "cannot be read",
		`{"format":"2"}`: "keys are of format",
		strings.Replace(want.text(), "4096", "1024", 1):     "with 1024 buckets",
		strings.Replace(want.text(), "60000", "0", 1):       "impossible",
		strings.Replace(want.text(), "60000", "1e300", 1):   "cannot be read",
		strings.Replace(want.text(), "60000", longer, 1):    "impossible",
		strings.Replace(want.text(), "0.01", "1.5", 1):      "impossible",
		strings.Replace(want.text(), "0.01", "1", 1):        "impossible",
		strings.Replace(want.text(), "0.01", "-0.1", 1):     "impossible",
		strings.Replace(want.text(), `"members"`, `"m"`, 1): "has none",
	} {
		if _, err := parseTable(text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestCommitted(t *testing.T) {
	change := table("a b c=n")
	change.Prev = []string{"a", "b", "c"}
	grown := table("a b c d:new")
	grown.Prev = []string{"a", "b", "c"}
	for _, x := range []struct {
		table    *Table
		accepted string
		want     bool
	}{
		{change, "a b", true},
		{change, "a n", false}, // a majority of the members, but not of the previous members
		{change, "a c", false},
		{change, "a n c", true},
		{grown, "a b", false},
		{grown, "a b d", true},
		{grown, "b c d", true},
		{grown, "c d x y", false},
	} {
		accepted := map[string]bool{}
		for id := range strings.FieldsSeq(x.accepted) {
			accepted[id] = true
		}
		if got := x.table.committed(accepted); got != x.want {
			t.Errorf("%v after %v, accepted by %s: %v", x.table, x.table.Prev, x.accepted, got)
		}
	}
	for id, has := range map[string]bool{"a": true, "n": true, "c": true, "x": false, "": false} {
		if change.concerns(id) != has {
			t.Errorf("%q may vote on %v after %v: want %t", id, change, change.Prev, has)
		}
	}
}

// next returns a copy of the table. Changes of the copy do not change the table, because others use the table.
// The copy's Prev has the members of the table.
func TestNextTable(t *testing.T) {
	before := table("a b c")
	before.Prev = []string{"a", "b", "z"}
	after := before.next()
	after.find("c").State = Suspended
	if !slices.Equal(after.Prev, []string{"a", "b", "c"}) || before.String() != "a b c" || !slices.Equal(before.Prev, []string{"a", "b", "z"}) {
		t.Errorf("%v after %v follows %v after %v", after, after.Prev, before, before.Prev)
	}
}

// A version counts as committed only with evidence: both majorities have accepted it at some time, or a member
// has learned it.
func TestEvidence(t *testing.T) {
	one, two := table("a b c"), table("a b c:suspended")
	known := evidence{}
	for _, id := range []string{"a", "b", "c"} {
		known.add(id, acceptedTable{version: "1", table: one, learned: true})
	}
	reports := []*report{nil, at("a", "2", two), at("b", "1", one), at("c", "1", one)}
	known.add("a", acceptedTable{version: "2", table: two})
	if l := worldOf(nil, nil, nil, reports).learn(known); l.committed != "1" || l.accepted != "2" {
		t.Errorf("one of three has accepted: %+v", l)
	}
	known.add("b", acceptedTable{version: "2", table: two})
	if l := worldOf(nil, nil, nil, reports).learn(known); l.committed != "2" {
		t.Errorf("two of three have, one of which does not report it any more: %+v", l)
	}
	known.forget("2")
	if len(known) != 1 || known["2"].table != two {
		t.Errorf("%+v", known)
	}
	late := evidence{}
	late.add("a", acceptedTable{version: "5", table: two, learned: true})
	if l := worldOf(&View{Deployment: "d", Table: two}, nil, nil, []*report{at("a", "5", two), nil, nil}).learn(late); l.committed != "5" {
		t.Errorf("one that knows is enough: %+v", l)
	}
}

// Clients with the same masters choose the same deployment, whichever master answers first.
func TestChooseDeployment(t *testing.T) {
	of := func(deployments string) (reports []*report) {
		for d := range strings.FieldsSeq(deployments) {
			switch d {
			case "?":
				reports = append(reports, nil)
			case "-":
				reports = append(reports, blank)
			default:
				deployment, state, _ := strings.Cut(d, ":")
				r := at(fmt.Sprint(len(reports)), "1", table("0 1 2"))
				if r.deployment = deployment; deployment == "y" {
					r.table = table("2 3 4")
				}
				switch state {
				case "restarted":
					r.idRun = "before"
				case "counter": // the server lost a counter
					r.id = ""
				case "new":
					r.id, r.version, r.table = "n", "", nil
				case "newer":
					r.version, r.table = "2", table("0 3 4")
				case "newer-bad":
					r.version, r.table, r.bad = "2", table("0 3 4"), errors.New("it cannot be used")
				case "older":
					r.version, r.table = "0", table("0 3 4")
				case "other": // another table of the same version
					r.table = table("0 3 4")
				}
				reports = append(reports, r)
			}
		}
		return reports
	}
	for _, x := range []struct {
		masters, members string // members has the addresses of x's members, if x is the current deployment; else ""
		want             string
		conflict         bool
	}{
		{"x x x", "", "x", false},
		{"x x ?", "", "x", false},
		{"x ? ?", "", "", false}, // the other masters may belong to another deployment
		{"x - -", "", "x", false},
		{"x x y", "", "x", false},
		{"x y ?", "", "", true},
		{"x x y y", "", "", true},
		{"x x y y y", "", "y", false},
		{"x x ? y", "0 1 2", "x", false},
		{"x x y y y", "0 1 2", "x", false},           // x still has a quorum
		{"x y y", "0 1 2", "y", false},               // x has no quorum any more
		{"x y ?", "0 1 2", "x", false},               // x has no quorum any more, but y has no majority
		{"x ? ? y y y y", "0 1 2", "x", false},       // a silent member may be alive
		{"y y y", "0 elsewhere nowhere", "x", false}, // members that are not in the list may be alive
		{"x x:restarted y y y", "0 1 2", "x", false},
		{"x x:counter y y y", "0 1 elsewhere", "x", false}, // one member lost a counter, but x still has a quorum
		{"x:counter x:counter y y y", "0 1 elsewhere", "y", false},
		{"x:new x:new y y y", "2 3 4", "y", false}, // a server that no table lists yet is not a member
		{"x:new x:new y y", "2 3 elsewhere", "x", false},
		{"x y y x y", "1 2 3", "y", false},                 // a former member is not a member, whatever its own table lists
		{"x y y x:newer x:newer", "0 1 2", "x", false},     // the newer table may be committed
		{"x y y x:newer x:newer y y", "0 1 2", "x", false}, // the newer table has a quorum
		{"y y y x:newer y", "0 1 2", "y", false},           // the newer table has no quorum either
		{"y x x x:newer y y y", "0 1 2", "x", false},       // the newer table has no quorum, but may not be committed
		{"x y y x:newer-bad x y y", "0 1 2", "y", false},   // the newer table cannot be trusted
		{"x y y x:older x:older y y", "0 1 2", "y", false}, // only newer tables count
		{"x y y x:other x:other y y", "0 1 2", "y", false}, // another table of the same version does not count
		{"? ? ?", "0 1 2", "x", false},
		{"- - -", "", "", false},
	} {
		var before *View
		if x.members != "" {
			before = &View{Deployment: "x", Version: "1", Table: table(x.members)}
		}
		reports, names := of(x.masters), []string{"0", "1", "2", "3", "4", "5", "6"}
		w := worldOf(before, names, nil, reports)
		l := w.learn(evidence{})
		got, err := l.deployment, l.conflict
		if got != x.want || (err != nil) != x.conflict || err != nil && !errors.Is(err, script.ErrNotMember) {
			t.Errorf("%s, had one of %q: %q, %v", x.masters, x.members, got, err)
		}
	}
}

func name(s step) string {
	switch s := s.(type) {
	case finish:
		return "finish"
	case adopt:
		return fmt.Sprint("adopt ", s.master)
	case note:
		return fmt.Sprint("note ", s.master, " ", s.weak)
	case enroll:
		return fmt.Sprint("enroll ", s.master)
	case syncCounters:
		return fmt.Sprint("sync ", s.master)
	case propose:
		return "propose " + s.table.String()
	case remove:
		return "remove " + s.id
	case waitFor:
		if s.look > 0 {
			return fmt.Sprint("wait ", s.look, ": ", s.why)
		}
		return "wait: " + s.why
	case done:
		return "done"
	case nothing:
		if s.at != nil {
			return fmt.Sprint("nothing for ", s.wait, " at ", digits(s.at))
		}
		if s.wait > 0 {
			return fmt.Sprint("nothing for ", s.wait)
		}
		return "nothing"
	}
	return fmt.Sprintf("%T", s)
}

// A proposer proposes only when it knows every version that may be committed.
func TestPromiseQuorum(t *testing.T) {
	old := table("a b c")
	replaced := table("a b c=n:new")
	replaced.Prev = []string{"a", "b", "c"}
	twice := table("a b=m:new c=n:new")
	twice.Prev = replaced.ids()
	knows := func(r *report) *report {
		r.learned = true
		return r
	}
	five := table("a b=m c=n d e")
	five.Prev = []string{"a", "b", "c", "d", "e"}
	before := table("a b c d e")
	for _, x := range []struct {
		what     string
		promises []*report
		known    string // the highest version that is known to be committed
		base     string
		may      bool
	}{
		{"a majority of the table that is known", []*report{at("a", "1", old), at("b", "1", old)}, "1", "1", true},
		{"one of three", []*report{at("a", "1", old)}, "1", "1", false},
		{"of a higher table, and of the one before", []*report{at("a", "2", replaced), at("b", "1", old)}, "1", "2", true},
		{"of a higher table, but not of the one before", []*report{at("a", "2", replaced), at("n", "2", replaced)}, "1", "2", false},
		{"the same, but that it is committed", []*report{at("a", "2", replaced), at("n", "2", replaced)}, "2", "2", true},
		{"the same, which only the first knows", []*report{knows(at("a", "2", replaced)), at("n", "2", replaced)}, "1", "2", true},
		{"… or only the last", []*report{at("a", "2", replaced), knows(at("n", "2", replaced))}, "1", "2", true},
		{"another knows only that the one before is committed", []*report{at("a", "2", five), at("m", "2", five), at("n", "2", five), at("b", "1", before)}, "1", "2", false},
		{"of the one before that, which does not count", []*report{at("a", "3", twice), at("b", "1", old), at("c", "1", old)}, "1", "3", false},
	} {
		b := ballot{promised: map[string]bool{}, base: "1", table: old, committed: true}
		for _, r := range x.promises {
			b.take(r, r.version <= x.known || r.learned)
		}
		if b.base != x.base || b.mayPropose() != x.may {
			t.Errorf("%s: on %s, may propose: %v", x.what, b.base, b.mayPropose())
		}
	}
}

// Any table text is parsed or refused, and a parsed table is usable.
func FuzzTable(f *testing.F) {
	f.Add(table("a b:new c:suspended").text())
	f.Add(`{"format":"3","buckets":4096,"maxTTL":1,"drift":0,"members":[{}],"prev":null}`)
	f.Add(`{"format":"3","buckets":4096,"maxTTL":1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parseTable(text)
		if err != nil {
			return
		}
		if q := read.Quarantine(); q <= 0 || read.Quorum() < 1 {
			t.Errorf("%q: quorum %d, quarantine %v", text, read.Quorum(), q)
		}
		reread, err := parseTable(read.text())
		if err != nil || reread.String() != read.String() {
			t.Errorf("%q: %v, %v", text, reread, err)
		}
		worldOf(nil, []string{"a"}, nil, []*report{at("a", "1", read)}).viewOf("d", "1", read, func(string) int { return 0 })
	})
}
