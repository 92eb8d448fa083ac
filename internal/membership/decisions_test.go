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

// The decisions are pure: what follows from what servers report.

// table returns one of members that are written "a", "b:new", "c:suspended". Their ids and
// addresses are the letters. Of "a=x", x is the id.
func table(members string) *Table {
	t := &Table{Format: format, Buckets: script.Buckets, MaxTTL: 60_000, Drift: 0.01}
	for text := range strings.FieldsSeq(members) {
		address, state, _ := strings.Cut(text, ":")
		address, id, other := strings.Cut(address, "=")
		if !other {
			id = address
		}
		if state == "" {
			state = string(Voting)
		}
		t.Members = append(t.Members, Member{ID: id, State: State(state), Address: address})
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
		if m.State != Voting {
			text += ":" + string(m.State)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// at is the report of an intact server at a version.
func at(id, version string, t *Table) *report {
	return &report{run: "r", idRun: "r", deployment: "d", id: id, version: version, table: t}
}

// worldOf returns the one in which these masters have reported this (nil: nothing), and were the
// members at these addresses before.
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

// longKnown is the world in which the servers have known their versions for an hour.
func (w world) longKnown() world {
	for i, m := range w.masters {
		if m.report != nil {
			r := *m.report
			r.learned, r.known = true, time.Hour
			w.masters[i].report = &r
		}
	}
	return w
}

// blank and lost are reports of servers that have nothing, and of one that restarted.
var blank = &report{run: "r"}

func lost(id string) *report { return &report{run: "r", idRun: "before", deployment: "d", id: id} }

func TestTablesAreReadAsTheyAreWritten(t *testing.T) {
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
	for text, says := range map[string]string{
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
		if _, err := parseTable(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestWhatIsCommitted(t *testing.T) {
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
		{change, "a n", false}, // a majority of the members, but not of those before
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
			t.Errorf("%q has a say in %v after %v: want %t", id, change, change.Prev, has)
		}
	}
}

// The table that follows names the members before, and leaves the other as it is: that is
// committed, and others go by it.
func TestTheTableThatFollows(t *testing.T) {
	before := table("a b c")
	before.Prev = []string{"a", "b", "z"}
	after := before.next()
	after.find("c").State = Suspended
	if !slices.Equal(after.Prev, []string{"a", "b", "c"}) || before.String() != "a b c" || !slices.Equal(before.Prev, []string{"a", "b", "z"}) {
		t.Errorf("%v after %v follows %v after %v", after, after.Prev, before, before.Prev)
	}
}

// What a client takes for committed needs evidence: majorities that have accepted, at any time, or
// a member that knows.
func TestEvidence(t *testing.T) {
	one, two := table("a b c"), table("a b c:suspended")
	known := newEvidence()
	for _, id := range []string{"a", "b", "c"} {
		known.add(id, "1", one, true)
	}
	reports := []*report{nil, at("a", "2", two), at("b", "1", one), at("c", "1", one)}
	known.add("a", "2", two, false)
	if l := worldOf(nil, nil, nil, reports).learn(known); l.committed["d"] != "1" || l.accepted["d"] != "2" {
		t.Errorf("one of three has accepted: %+v", l)
	}
	known.add("b", "2", two, false)
	if l := worldOf(nil, nil, nil, reports).learn(known); l.committed["d"] != "2" {
		t.Errorf("two of three have, one of which says so no more: %+v", l)
	}
	known.forget("2")
	if len(known.tables) != 1 || known.tables["2"] != two {
		t.Errorf("%+v", known)
	}
	late := newEvidence()
	late.add("a", "5", two, true)
	if l := worldOf(nil, nil, nil, []*report{at("a", "5", two), nil, nil}).learn(late); l.committed["d"] != "5" {
		t.Errorf("one that knows is enough: %+v", l)
	}
}

// Clients with the same masters choose one deployment, whatever answers first.
func TestWhichDeployment(t *testing.T) {
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
				case "counter": // it lost one
					r.id = ""
				case "new":
					r.id, r.version, r.table = "n", "", nil
				case "newer":
					r.version, r.table = "2", table("0 3 4")
				case "newer-bad":
					r.version, r.table, r.bad = "2", table("0 3 4"), errors.New("it cannot be used")
				case "older":
					r.version, r.table = "0", table("0 3 4")
				case "other": // of the same version
					r.table = table("0 3 4")
				}
				reports = append(reports, r)
			}
		}
		return reports
	}
	for _, x := range []struct {
		masters, members string // these of the deployment x, which it had; "": it had none
		want             string
		conflict         bool
	}{
		{"x x x", "", "x", false},
		{"x x ?", "", "x", false},
		{"x ? ?", "", "", false}, // the others may be another's
		{"x - -", "", "x", false},
		{"x x y", "", "x", false},
		{"x y ?", "", "", true},
		{"x x y y", "", "", true},
		{"x x y y y", "", "y", false},
		{"x x ? y", "0 1 2", "x", false},
		{"x x y y y", "0 1 2", "x", false},           // x has a quorum yet
		{"x y y", "0 1 2", "y", false},               // x has no quorum any more
		{"x y ?", "0 1 2", "x", false},               // but nothing else is better
		{"x ? ? y y y y", "0 1 2", "x", false},       // who is silent may live
		{"y y y", "0 elsewhere nowhere", "x", false}, // so may members that are not in the list
		{"x x:restarted y y y", "0 1 2", "x", false},
		{"x x:counter y y y", "0 1 elsewhere", "x", false}, // one lost a counter, and x goes on
		{"x:counter x:counter y y y", "0 1 elsewhere", "y", false},
		{"x:new x:new y y y", "2 3 4", "y", false}, // who is to join is no member
		{"x:new x:new y y", "2 3 elsewhere", "x", false},
		{"x y y x y", "1 2 3", "y", false},                 // a former member is none, whatever its table says
		{"x y y x:newer x:newer", "0 1 2", "x", false},     // of which nobody knows whether it is committed
		{"x y y x:newer x:newer y y", "0 1 2", "x", false}, // and it has a quorum
		{"y y y x:newer y", "0 1 2", "y", false},           // it has none either
		{"y x x x:newer y y y", "0 1 2", "x", false},       // it has none, but may not be committed
		{"x y y x:newer-bad x y y", "0 1 2", "y", false},   // whose table is not to be trusted
		{"x y y x:older x:older y y", "0 1 2", "y", false}, // it was succeeded
		{"x y y x:other x:other y y", "0 1 2", "y", false}, // a version has one table, which is lost
		{"? ? ?", "0 1 2", "x", false},
		{"- - -", "", "", false},
	} {
		var had *View
		if x.members != "" {
			had = &View{Deployment: "x", Version: "1", Table: table(x.members)}
		}
		reports, names := of(x.masters), []string{"0", "1", "2", "3", "4", "5", "6"}
		w := worldOf(had, names, nil, reports)
		got, err := w.learn(newEvidence()).deployment(w.had())
		if got != x.want || (err != nil) != x.conflict || err != nil && !errors.Is(err, script.ErrNotMember) {
			t.Errorf("%s, had one of %q: %q, %v", x.masters, x.members, got, err)
		}
	}
}

func TestWhoIsOut(t *testing.T) {
	names := []string{"a", "b", "c", "x", "localhost:a"}
	stranger := at("s", "1", table("s"))
	stranger.deployment = "other"
	first := func(id string) int { return slices.Index([]string{"a", "b", "c", "s"}, id) }
	v := worldOf(nil, names, nil, []*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil), stranger, at("a", "1", nil)}).viewOf("d", "1", table("a b:suspended c:new e"), first)
	for i, says := range []string{"", "suspended", "new", "another deployment", "the same server as a"} {
		if got := fmt.Sprint(v.Out[i]); says == "" && v.Out[i] != nil || !strings.Contains(got, says) {
			t.Errorf("%s: %s, want %q", names[i], got, says)
		}
	}
	if !slices.Equal(v.Lacks, []string{"e"}) || v.NeedsInit || !v.Short() {
		t.Errorf("%+v", v)
	}
	v = worldOf(nil, names, nil, []*report{at("a", "1", nil), blank, lost("c"), nil, nil}).viewOf("d", "1", table("a b c"), first)
	if v.Out[1] == nil || v.Out[2] == nil || v.Out[3] != nil || !v.NeedsInit || v.Lacks != nil {
		t.Errorf("%+v", v)
	}
	// One that does not answer hides none after it; a member is one wherever its server is.
	v = worldOf(nil, []string{"away", "b", "a", "d", "e"}, nil, []*report{at("c", "1", nil), at("b", "1", nil), nil, at("x", "1", nil), nil}).viewOf("d", "1", table("a b c"), func(id string) int { return slices.Index([]string{"c", "b"}, id) })
	if v.Out[0] != nil || v.Out[1] != nil || v.Out[2] != nil || v.Out[3] == nil || v.Lacks != nil || v.Short() {
		t.Errorf("%+v", v)
	}
}

// A server that lost its data takes its place again, so it is waited for; others that do not vote
// are there by mistake.
func TestWhoIsNotAdmitted(t *testing.T) {
	for _, x := range []struct {
		claim, deployment, id, name string
		admitted                    bool
	}{
		{"a new id at a member's address", "d", "n", "c", true},
		{"a new id elsewhere", "d", "n", "x", false},
		{"a server of others at a member's address", "e", "n", "c", false},
		{"a member's id in another deployment", "e", "c", "c", false},
	} {
		r := at(x.id, "1", nil)
		r.deployment = x.deployment
		v := worldOf(nil, []string{x.name}, nil, []*report{r}).viewOf("d", "1", table("a b c"), func(string) int { return 0 })
		if !errors.Is(v.Out[0], script.ErrNotMember) || errors.Is(v.Out[0], ErrNotAdmitted) == x.admitted {
			t.Errorf("%s: %v, admitted: want %t", x.claim, v.Out[0], x.admitted)
		}
	}
}

// Only an init helps when more members lost their data than a quorum can do without.
func TestWhenTooFewHaveTheirData(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	is := func(id string) *report { return at(id, "1", nil) }
	synced := func(id string) *report {
		r := is(id)
		r.synced = "1"
		return r
	}
	for _, x := range []struct {
		claim, table string
		reports      []*report
		want         bool
	}{
		{"all have it", "a b c d e", []*report{is("a"), is("b"), is("c"), is("d"), is("e")}, false},
		{"two of five lost it", "a b c d e", []*report{blank, blank, is("c"), is("d"), is("e")}, false},
		{"three did, the first among them", "a b c d e", []*report{blank, blank, is("c"), lost("d"), is("e")}, true},
		{"two of three, the first among them", "a b c", []*report{blank, blank, is("c"), nil, nil}, true},
		{"those that do not answer may have it", "a b c d e", []*report{nil, nil, nil, is("d"), is("e")}, false},
		{"a new member has none before it has its counters", "a b=n:new c=m:new", []*report{is("a"), is("n"), is("m"), nil, nil}, true},
		{"new ones that have them count", "a=n:new b=m:new c", []*report{synced("n"), synced("m"), is("c"), nil, nil}, false},
		{"the first has them, and one has none", "a=n:new b=m:new c", []*report{synced("n"), is("m"), is("c"), nil, nil}, false},
		{"the first may be one that has none", "a=n:new b=m:new c", []*report{is("n"), is("m"), is("c"), nil, nil}, true},
		{"one that does not answer has none", "a b=n:new c=m:new", []*report{is("a"), nil, nil, nil, nil}, true},
	} {
		s := worldOf(&View{Deployment: "d", Version: "1", Table: table(x.table)}, names, nil, x.reports)
		if got := s.beyondRepair(); got != x.want {
			t.Errorf("%s: %t, want %t", x.claim, got, x.want)
		}
	}
}

// A client that knows no version tells that only an init helps, as soon as that is sure.
func TestWhenNothingCanBeLearned(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	six := table("a b c d e f")
	changed := table("a b c d f=g") // e was removed; a new server took the place of f
	changed.Prev = six.ids()
	damaged := lost("e") // it still has the table
	damaged.table = six
	alone := lost("b") // it has one by which nothing is missing
	alone.table = table("f")
	evicted := func(id string) *report {
		r := at(id, "7", six)
		r.forgot = "it evicted keys"
		return r
	}
	for _, x := range []struct {
		claim   string
		reports []*report
		want    bool
	}{
		{"half of six lost their data", []*report{at("a", "7", six), at("b", "7", six), at("c", "7", six), lost("d"), lost("e"), blank}, true},
		{"one of them does not answer", []*report{at("a", "7", six), at("b", "7", six), at("c", "7", six), lost("d"), lost("e"), nil}, false},
		{"two of six", []*report{at("a", "7", six), at("b", "7", six), at("c", "7", six), nil, lost("e"), blank}, false},
		{"of the table before they are no members", []*report{at("a", "7", six), at("b", "7", six), at("c", "6", table("a b c")), lost("d"), lost("e"), blank}, false},
		{"half of the table before it lost their data", []*report{at("a", "8", changed), at("b", "7", six), at("c", "7", six), blank, damaged, at("g", "8", changed)}, true},
		{"less than half of it", []*report{at("a", "8", changed), at("b", "7", six), at("c", "7", six), at("d", "7", six), damaged, at("g", "8", changed)}, false},
		{"the table of one that lost its data does not count", []*report{nil, at("a", "8", table("a b c d")), alone, blank, blank, at("f", "1", nil)}, true},
		{"nor does it when it comes last", []*report{at("a", "8", table("a b c d")), blank, blank, at("f", "1", nil), at("n", "", nil), alone}, true},
		{"the first does not answer", []*report{nil, blank, at("c", "7", six), blank, damaged, at("g", "8", changed)}, true},
		{"the first lost its data", []*report{blank, at("b", "7", six), at("c", "7", six), at("d", "7", six), damaged, at("g", "8", changed)}, true},
		{"all that have a table lost their data", []*report{evicted("a"), evicted("b"), evicted("c"), evicted("d"), evicted("e"), evicted("f")}, true},
		{"half of six did, and the others do not answer", []*report{evicted("a"), evicted("b"), evicted("c"), nil, nil, nil}, true},
		{"two of six did", []*report{evicted("a"), evicted("b"), nil, nil, nil, nil}, false},
		{"no table at all", []*report{blank, blank, blank, blank, blank, blank}, false},
	} {
		if got := worldOf(nil, names, nil, x.reports).unlearnable(); got != x.want {
			t.Errorf("%s: %t, want %t", x.claim, got, x.want)
		}
	}
}

// What any client does by itself.
func TestNextSteps(t *testing.T) {
	names := []string{"a", "b", "c"}
	three := table("a b c")
	synced := at("n", "1", nil)
	synced.synced = "1"
	// Of a deployment of durable members: one that restarted, with the table of a version; one that
	// is not durable any more.
	back := func(id, version string, t *Table) *report {
		r := at(id, version, t)
		r.idRun, r.durable, r.durably, r.aof = "before", durable, true, "loaded"
		return r
	}
	kept := durableTable("a b c")
	weak := at("c", "1", kept)
	weak.durable, weak.durably, weak.noted = NotDurable, true, true
	unnoted, mended, rewriting := *weak, *weak, *weak
	unnoted.noted, mended.durable, rewriting.durable, rewriting.aof = false, durable, durable, "rewriting"
	without := durableTable("a b c")
	without.find("c").Durable = false
	claimed := &report{run: "r", idRun: "r", id: "k", deployment: "e", claim: "a"}
	elsewhere := at("k", "", nil)
	elsewhere.deployment = "e"
	former := at("c0", "0", table("c0"))
	for _, x := range []struct {
		what    string
		table   *Table
		reports []*report
		want    string
	}{
		{"all is well", three, []*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil)}, "nothing"},
		{"two are of a deployment that is being founded", three, []*report{at("a", "1", nil), elsewhere, elsewhere}, "nothing again"},
		{"one does not answer", three, []*report{at("a", "1", nil), at("b", "1", nil), nil}, "nothing"},
		{"one is blank", three, []*report{at("a", "1", nil), at("b", "1", nil), blank}, "enroll 2"},
		{"the first one is blank", three, []*report{blank, at("b", "1", nil), at("c", "1", nil)}, "enroll 0"},
		{"the first one has a new id", three, []*report{at("n", "", nil), at("b", "1", nil), at("c", "1", nil)}, "propose a=n:new b c"},
		{"one restarted", three, []*report{at("a", "1", nil), lost("b"), at("c", "1", nil)}, "enroll 1"},
		{"a durable one restarted", kept, []*report{at("a", "1", kept), at("b", "1", kept), back("c", "1", kept)}, "adopt 2"},
		{"one other answers", kept, []*report{at("a", "1", kept), nil, back("c", "1", kept)}, "adopt 2"},
		{"no other answers", kept, []*report{nil, nil, back("c", "1", kept)}, "nothing again"},
		{"all restarted", kept, []*report{back("a", "1", kept), back("b", "1", kept), back("c", "1", kept)}, "adopt 0"},
		{"the others note that it is not durable", without, []*report{at("a", "1", without), at("b", "1", without), back("c", "0", kept)}, "enroll 2"},
		{"another one does, at a newer version", kept, []*report{at("a", "1", kept), at("b", "2", without), back("c", "1", kept)}, "nothing again"},
		{"one that restarted with it does, and a third one answers", kept, []*report{at("a", "1", kept), back("b", "2", without), back("c", "1", kept)}, "adopt 1"},
		{"one is not durable any more", kept, []*report{at("a", "1", kept), at("b", "1", kept), weak}, "propose a b c"},
		{"one is not, which is not noted", kept, []*report{at("a", "1", kept), at("b", "1", kept), &unnoted}, "note 2 true"},
		{"one is again, which is not noted", kept, []*report{at("a", "1", kept), at("b", "1", kept), &mended}, "note 2 false"},
		{"one is about to be again", kept, []*report{at("a", "1", kept), at("b", "1", kept), &rewriting}, "nothing again"},
		{"one is not, and one does not answer", kept, []*report{at("a", "1", kept), nil, weak}, "nothing again"},
		{"one is not, as the table has it", without, []*report{at("a", "1", without), at("b", "1", without), at("c", "1", without)}, "nothing again"},
		{"one was a member before", three, []*report{at("a", "1", nil), at("b", "1", nil), former}, "enroll 2"},
		{"one has a new id", three, []*report{at("a", "1", nil), at("b", "1", nil), at("n", "", nil)}, "propose a b c=n:new"},
		{"one has a new id, and too few members answer", three, []*report{nil, at("b", "1", nil), at("n", "", nil)}, "nothing again"},
		{"an init is under way on one", three, []*report{at("a", "1", nil), at("b", "1", nil), claimed}, "nothing again"},
		{"a member is at another's address", three, []*report{at("a", "1", nil), at("c", "1", nil), blank}, "nothing again"},
		{"a new member has no counters", table("a b c=n:new"), []*report{at("a", "1", nil), at("b", "1", nil), at("n", "1", nil)}, "sync 2"},
		{"nor can it get any", table("a b c=n:new"), []*report{at("a", "1", nil), nil, at("n", "1", nil)}, "nothing again"},
		{"nor from one that lags behind", table("a b c=n:new"), []*report{at("a", "1", nil), at("b", "0", nil), at("n", "1", nil)}, "nothing again"},
		{"a suspended one has counters", table("a b:suspended c=n:new"), []*report{at("a", "1", nil), at("b", "1", nil), at("n", "1", nil)}, "sync 2"},
		{"it has its counters", table("a b c=n:new"), []*report{at("a", "1", nil), at("b", "1", nil), synced}, "propose a b c=n"},
		{"it has, and another new one before it has none", table("a b:new c=n:new"), []*report{at("a", "1", nil), at("b", "1", nil), synced}, "propose a b:new c=n"},
		{"it does not answer", table("a b c=n:new"), []*report{at("a", "1", nil), at("b", "1", nil), nil}, "nothing again"},
		{"too few vote", table("a b:suspended c:suspended"), []*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil)}, "nothing again"},
		{"suspended stays so", table("a b c:suspended"), []*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil)}, "nothing"},
	} {
		s := worldOf(&View{Deployment: "d", Version: "1", Table: x.table}, names, nil, x.reports).longKnown()
		if got := name(s.next()); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
		s.uncommitted = "2"
		if got := name(s.next()); got != "finish" && !strings.HasPrefix(x.want, "adopt") && !strings.HasPrefix(x.want, "note") {
			t.Errorf("%s, and a version is not known to be committed: %s", x.what, got)
		}
	}
	// Another client may just have given it the id.
	s := worldOf(&View{Deployment: "d", Version: "1", Table: three}, names, nil, []*report{at("a", "1", nil), at("b", "1", nil), at("n", "", nil)})
	s.masters[2].unable = 1
	if got := name(s.next()); got != "nothing again" {
		t.Errorf("one has a new id, and a step failed there lately: %s", got)
	}
	if got := name(world{}.next()); got != "nothing" {
		t.Errorf("nothing is known: %s", got)
	}
}

// name is a step in words.
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
		return "wait: " + s.why
	case done:
		return "done"
	case nothing:
		if s.wait > 0 {
			return "nothing again"
		}
		return "nothing"
	}
	return fmt.Sprintf("%T", s)
}

// steps are those toward a change: while it waits, what any client does.
func steps(w world, c Change) (string, error) {
	s, err := w.toward(c)
	if _, waits := s.(waitFor); waits && !strings.HasPrefix(name(w.next()), "nothing") {
		s = w.next()
	}
	return name(s), err
}

// What an operator's change does, from wherever it stands.
func TestStepsTowardAChange(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	all := func(last ...*report) []*report {
		return append([]*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil)}, last...)
	}
	other := at("x", "1", table("x"))
	other.deployment = "o"
	synced := at("d", "1", nil)
	synced.synced = "1"
	for _, x := range []struct {
		change  Change
		table   string
		reports []*report
		want    string
	}{
		{Change{Add, "d", ""}, "a b c", all(blank), "enroll 3"},
		{Change{Add, "d", ""}, "a b c", all(at("d", "", nil)), "propose a b c d:new"},
		{Change{Add, "d", ""}, "a b c d:new", all(at("d", "1", nil)), "sync 3"},
		{Change{Add, "d", ""}, "a b c d:new", all(synced), "propose a b c d"},
		{Change{Add, "d", ""}, "a b c d", all(synced), "done"},
		{Change{Add, "d", ""}, "a b c", all(nil), "wait: d does not answer"},
		{Change{Add, "d", ""}, "a b c", all(other), "refused: d belongs to another deployment, o"},
		{Change{Add, "z", ""}, "a b c", all(), "refused: z is none of the masters that were given"},
		{Change{Add, "d", ""}, "a b c", all(at("d", "0", table("d"))), "enroll 3"}, // it was a member before
		{Change{Add, "d", ""}, "a b c", []*report{at("a", "1", nil), nil, at("c", "1", nil), at("b", "1", nil)}, "refused: d is a member already, as b"},
		{Change{Add, "a", ""}, "b c d", []*report{blank, at("b", "1", nil), at("c", "1", nil), at("d", "1", nil)}, "enroll 0"},
		{Change{Add, "a", ""}, "a:new b c d", all(at("d", "1", nil)), "sync 0"},
		{Change{Add, "a", ""}, "a=n:new b c d", []*report{blank, at("b", "1", nil), at("c", "1", nil), at("d", "1", nil)}, "enroll 0"},
		{Change{Add, "d", ""}, "a b c:suspended", all(blank), "refused: cannot add d: only 2 of 4 members would vote, and 3 are needed"},
		{Change{Replace, "d", "c"}, "a b c", all(blank), "enroll 3"},
		{Change{Replace, "d", "c"}, "a b c", all(at("d", "", nil)), "propose a b d:new"},
		{Change{Replace, "d", "c"}, "a b d:new", all(synced), "propose a b d"},
		{Change{Replace, "d", "c"}, "a b d", all(synced), "done"},
		{Change{Replace, "c", "c"}, "a b c", []*report{at("a", "1", nil), at("b", "1", nil), blank}, "enroll 2"},
		{Change{Replace, "c", "c"}, "a b c", all(), "done"},
		{Change{Replace, "d", "z"}, "a b c", all(blank), "refused: z is no member: the members are a, b, c"},
		{Change{Replace, "b", "c"}, "a b c", all(), "refused: b is a member already"},
		{Change{Replace, "d", "c"}, "a b:suspended c", all(blank), "refused: cannot replace c: only 1 of 3 members would vote, and 2 are needed"},
		{Change{Replace, "d", "c"}, "a b c", []*report{at("a", "1", nil), lost("b"), at("c", "1", nil), blank}, "enroll 1"},
		{Change{Suspend, "c", ""}, "a b c", []*report{at("a", "1", nil), nil, at("c", "1", nil)}, "wait: of the members that would vote, 1 answer, and 2 are needed"},
		{Change{Suspend, "c", ""}, "a b c", []*report{blank, lost("b"), at("c", "1", nil)}, "refused: too many members lost their data for the others to have all of it"},
		{Change{Suspend, "c", ""}, "a b c z", all(), "propose a b c:suspended z"},
		{Change{Suspend, "c", ""}, "a b c", all(), "propose a b c:suspended"},
		{Change{Suspend, "c", ""}, "a b c:suspended", all(), "done"},
		{Change{Suspend, "b", ""}, "a b c:suspended", all(), "refused: cannot suspend b: only 1 of 3 members would vote, and 2 are needed"},
		{Change{Suspend, "c", ""}, "a b c:new", all(), "refused: c is new, and does not vote anyway"},
		{Change{Suspend, "z", ""}, "a b c", all(), "refused: z is no member: the members are a, b, c"},
		{Change{Resume, "c", ""}, "a b c:suspended", all(), "propose a b c"},
		{Change{Resume, "c", ""}, "a b c", all(), "done"},
		{Change{Resume, "c", ""}, "a b c:new", all(), "refused: c is new: it votes when it has its counters and the quarantine is over"},
		{Change{Remove, "c", ""}, "a b c", all(), "propose a b c:suspended"},
		{Change{Remove, "c", ""}, "a b c:suspended", all(), "remove c"},
		{Change{Remove, "c", ""}, "a b c:new", all(), "remove c"},
		{Change{Remove, "c", ""}, "a b", all(), "done"},
		{Change{Replace, "d", "c"}, "a b c z", all(blank), "refused: cannot replace c: 2 of the members that have the counters are among the masters that were given, and 3 are needed: give z too"},
		{Change{Add, "d", ""}, "a b y z", []*report{at("a", "1", nil), at("b", "1", nil), nil, blank}, "refused: cannot add d: 2 of the members that have the counters are among the masters that were given, and 3 are needed: give y, z too"},
		{Change{Suspend, "a", ""}, "a b x y z", all(), "refused: cannot suspend a: 2 of the members that have the counters are among the masters that were given, and 3 are needed: give x, y, z too"},
		{Change{Remove, "c", ""}, "a b c y z", all(), "refused: cannot remove c: 2 of the members that have the counters are among the masters that were given, and 3 are needed: give y, z too"},
		{Change{Remove, "b", ""}, "a b c:suspended", all(), "refused: cannot remove b: only 1 of 3 members would vote, and 2 are needed"},
	} {
		for len(x.reports) < len(names) {
			x.reports = append(x.reports, nil)
		}
		s := worldOf(&View{Deployment: "d", Version: "1", Table: table(x.table)}, names, nil, x.reports).longKnown()
		got, err := steps(s, x.change)
		if err != nil {
			got = "refused: " + err.Error()
		}
		if got != x.want {
			t.Errorf("%+v of %s: %s, want %s", x.change, x.table, got, x.want)
		}
	}
}

// A proposer speaks only when no other version can be committed behind its back.
func TestPromisesThatAreEnough(t *testing.T) {
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
		known    string // to be committed
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

// Whatever a server says that its table is, it is read or refused, and what is read can be gone by.
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
		again, err := parseTable(read.text())
		if err != nil || again.String() != read.String() {
			t.Errorf("%q: %v, %v", text, again, err)
		}
		worldOf(nil, []string{"a"}, nil, []*report{at("a", "1", read)}).viewOf("d", "1", read, func(string) int { return 0 })
	})
}
