package membership

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A new member gets of each bucket the highest counter that a member of the quorum has, in whatever
// order they are read.
func TestFloorsAreTheHighest(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		counters [][]int64
		want     []int64
	}{
		{nil, []int64{0, 0, 0}},
		{[][]int64{{5, 1, 7}}, []int64{5, 1, 7}},
		{[][]int64{{5, 1, 7}, {6, 1, 2}}, []int64{6, 1, 7}},
		{[][]int64{{5, 1, 7}, {6, 1, 2}, {4, 9, 7}}, []int64{6, 9, 7}},
		{[][]int64{{5, 1, 7}, {0, 0, 0}}, []int64{5, 1, 7}},
	} {
		for range 2 {
			floors := make([]int64, 3)
			for _, counters := range x.counters {
				raiseTo(floors, counters)
			}
			if !slices.Equal(floors, x.want) {
				t.Errorf("of %v: %v, want %v", x.counters, floors, x.want)
			}
			slices.Reverse(x.counters)
		}
	}
}

// The quarantine has lasted for as long as a quorum has known: the others may know for longer, for
// their clocks may have been set right. Members report it in any order, and what those that are at
// another version report does not count.
func TestForHowLongAQuorumHasKnown(t *testing.T) {
	t.Parallel()
	const none, other = -time.Second, -1
	for _, x := range []struct {
		known  []time.Duration // other: at another version
		quorum int             // of as many members as it takes
		want   time.Duration   // none: no quorum has reported
	}{
		{[]time.Duration{7}, 1, 7},
		{[]time.Duration{0}, 1, 0},
		{[]time.Duration{other}, 1, none},
		{[]time.Duration{7}, 2, none},
		{[]time.Duration{7, 3}, 2, 3},
		{[]time.Duration{7, other}, 2, none},
		{[]time.Duration{7, 3, 5}, 2, 5},
		{[]time.Duration{7, other, 5}, 2, 5},
		{[]time.Duration{1000, 5, 5}, 2, 5},    // one clock was set forward
		{[]time.Duration{1000, 1000, 5}, 3, 5}, // two were, of four
		{[]time.Duration{1000, 1000, 5, 6, 7}, 3, 7},
		{[]time.Duration{9, 1, 8, 2, 7}, 3, 7},
	} {
		for order := range permutations(x.known) {
			v := &View{Deployment: "d", Version: "1", Table: table("a b c d e")}
			v.Table.Members = v.Table.Members[:max(2*x.quorum-1, len(x.known))]
			var reports []*report
			for i, known := range order {
				r := at(v.Table.Members[i].ID, "1", nil)
				r.learned, r.known = true, known
				if known == other {
					r.version = "2"
				}
				reports = append(reports, r)
			}
			left, _, known := worldOf(v, nil, nil, reports).quarantine()
			if known != (x.want != none) || known && v.Table.Quarantine()-left != x.want || !known && left != v.Table.Quarantine() {
				t.Errorf("known for %v, a quorum of %d: %v left, %v", order, x.quorum, left, known)
			}
		}
	}
	// What a client's clock shows is only when to look again.
	r := at("a", "1", nil)
	r.learned, r.asked = true, 1000
	w := worldOf(&View{Deployment: "d", Version: "1", Table: table("a")}, nil, nil, []*report{r})
	w.now = r.asked.Add(time.Hour)
	if left, estimate, _ := w.quarantine(); left != w.view.Table.Quarantine() || estimate != time.Millisecond {
		t.Errorf("an hour later %v are left, and it may be over in %v", left, estimate)
	}
}

// permutations yields all orders of these durations.
func permutations(all []time.Duration) func(yield func([]time.Duration) bool) {
	return func(yield func([]time.Duration) bool) {
		if len(all) < 2 {
			yield(all)
			return
		}
		for i, first := range all {
			rest := slices.Delete(slices.Clone(all), i, i+1)
			for order := range permutations(rest) {
				if !yield(append([]time.Duration{first}, order...)) {
					return
				}
			}
		}
	}
}

// Which masters are asked for what they know, when a new member gets its counters, the quarantine
// is measured and a member is removed. A server under two addresses is one member, else it alone
// would be a quorum.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	elsewhere := at("c", "1", nil)
	elsewhere.deployment = "e"
	one := func(id string) *report { return at(id, "1", nil) }
	for _, x := range []struct {
		what    string
		table   string
		reports []*report

		members string // in the table, in whatever state
		sources string // they can tell the counters
		staying string // they vote when c is removed
	}{
		{"all is well", "a b c", []*report{one("a"), one("b"), one("c")}, "012", "012", "01"},
		{"one does not answer", "a b c", []*report{nil, one("b"), one("c")}, "12", "12", "1"},
		{"one has lost its data", "a b c", []*report{lost("a"), one("b"), one("c")}, "12", "12", "1"},
		{"one is no member", "a b c", []*report{one("x"), one("b"), one("c")}, "12", "12", "1"},
		{"one lags behind", "a b c", []*report{at("a", "0", nil), one("b"), one("c")}, "012", "12", "1"},
		{"one is ahead", "a b c", []*report{at("a", "2", nil), one("b"), one("c")}, "012", "12", "1"},
		{"one is new", "a:new b c", []*report{one("a"), one("b"), one("c")}, "012", "12", "1"},
		{"one is suspended", "a:suspended b c", []*report{one("a"), one("b"), one("c")}, "012", "012", "1"},
		{"one is of another deployment", "a b c", []*report{one("a"), one("b"), elsewhere}, "01", "012", "01"}, // the version names it
		{"two addresses of one server", "a b c", []*report{one("a"), one("a"), one("b"), one("c")}, "023", "023", "02"},
		{"three, and no other", "a b c", []*report{one("b"), one("b"), one("b")}, "0", "0", "0"},
		{"two, of which one told before it restarted", "a b c", []*report{lost("a"), one("a"), one("c")}, "12", "12", "1"},
	} {
		v := &View{Deployment: "d", Version: "1", Table: table(x.table)}
		next := v.Table.next()
		next.Members = slices.DeleteFunc(next.Members, func(m Member) bool { return m.ID == "c" })
		s := worldOf(v, nil, nil, x.reports)
		for what, got := range map[string][2]string{
			"members": {digits(s.members()), x.members},
			"sources": {digits(s.sources()), x.sources},
			"staying": {digits(s.staying(next)), x.staying},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %s: %s, want %s", x.what, what, got[0], got[1])
			}
		}
		if may := s.mayChange(); may != (len(x.members) >= 2) {
			t.Errorf("%s: a change may be made: %v", x.what, may)
		}
	}
}

// Of new members, those vote next that have the counters of the others, and nothing has become of
// them since.
func TestWhichNewMembersVote(t *testing.T) {
	t.Parallel()
	synced := func(r *report) *report {
		r.synced = "1"
		return r
	}
	one := func(id string) *report { return at(id, "1", nil) }
	for _, x := range []struct {
		what    string
		table   string
		reports []*report
		votes   string // who is new before, and votes then
	}{
		{"it has its counters", "a b c:new", []*report{one("a"), one("b"), synced(one("c"))}, "c"},
		{"it has not", "a b c:new", []*report{one("a"), one("b"), one("c")}, ""},
		{"it lost its data since", "a b c:new", []*report{one("a"), one("b"), synced(lost("c"))}, ""},
		{"it does not answer", "a b c:new", []*report{one("a"), one("b"), nil}, ""},
		{"one of two has them", "a b:new c:new", []*report{one("a"), one("b"), synced(one("c"))}, "c"},
		{"both have", "a b:new c:new", []*report{one("a"), synced(one("b")), synced(one("c"))}, "bc"},
		{"the server has two addresses", "a b c:new", []*report{one("a"), synced(one("c")), synced(one("c"))}, "c"},
		{"one that is suspended stays so", "a b c:suspended", []*report{one("a"), one("b"), synced(one("c"))}, ""},
		{"one that is no member", "a b c", []*report{one("a"), one("b"), synced(one("x"))}, ""},
		{"one that votes", "a b c", []*report{one("a"), one("b"), synced(one("c"))}, ""},
	} {
		is := table(x.table)
		_, next := worldOf(&View{Deployment: "d", Version: "1", Table: is}, nil, nil, x.reports).newMembers()
		any := next != nil
		if !any {
			next = is
		}
		votes := ""
		for _, m := range is.Members {
			switch now := next.stateOf(m.ID); {
			case m.State == New && now == Voting:
				votes += m.ID
			case now != m.State:
				t.Errorf("%s: %s was %s and is %s", x.what, m.ID, m.State, now)
			}
		}
		if votes != x.votes || any != (x.votes != "") {
			t.Errorf("%s: %q vote then (%v), want %q", x.what, votes, any, x.votes)
		}
	}
}

// digits writes small numbers one after the other.
func digits(numbers []int) string {
	var all strings.Builder
	for _, n := range numbers {
		all.WriteByte('0' + byte(n))
	}
	return all.String()
}
