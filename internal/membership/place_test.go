package membership

import (
	"strings"
	"testing"
)

// remembers is the report of a server that remembers names: "member name" each.
func remembers(r *report, names ...string) *report {
	r.names = map[string][]string{}
	for _, text := range names {
		id, name, _ := strings.Cut(text, " ")
		r.names[id] = append(r.names[id], name)
	}
	return r
}

// A client brings a member back from where it saw it, or from where others did, and takes no server
// for a member that may be another's.
func TestMembersUnderOtherNames(t *testing.T) {
	t.Parallel()
	a, b, c := func() *report { return at("a", "1", nil) }, at("b", "1", nil), at("c", "1", nil)
	fresh := at("n", "", nil)
	former := at("c0", "0", table("c0"))
	foreign := at("s", "1", nil)
	foreign.deployment = "other"
	names := []string{"a", "b", "x", "y"}
	for _, x := range []struct {
		what    string
		table   string
		seen    string // by master; -: nowhere
		reports []*report
		want    string
	}{
		{"nothing is known of the name", "a b c", "- - - -", []*report{a(), b, blank, nil}, "nothing"},
		{"the member was seen there", "a b c", "a b c -", []*report{a(), b, blank, nil}, "enroll 2"},
		{"another client has given the server its id", "a b c", "a b c -", []*report{a(), b, fresh, nil}, "propose a b c=n:new"},
		{"it restarted", "a b c", "a b c -", []*report{a(), b, lost("c"), nil}, "enroll 2"},
		{"it is another deployment's", "a b c", "a b c -", []*report{a(), b, foreign, nil}, "nothing"},
		{"it is the server of another member", "a b c", "a b c -", []*report{a(), nil, b, nil}, "nothing"},
		{"the member was seen at two, the second is free", "a b c", "a b c c", []*report{a(), b, foreign, blank}, "enroll 3"},
		{"the member is elsewhere", "a b c", "a b c -", []*report{a(), b, blank, c}, "nothing again"},
		{"its place was given away while it lived", "a b c=d", "a b c -", []*report{a(), b, former, nil}, "nothing"},
		{"too few would vote", "a b:suspended c", "a b c -", []*report{a(), b, blank, nil}, "nothing again"},
		{"masters remember the name", "a b c", "- - - -", []*report{remembers(a(), "c x"), b, blank, nil}, "enroll 2"},
		{"one among others", "a b c", "- - - -", []*report{remembers(a(), "c z", "c x"), b, blank, nil}, "enroll 2"},
		{"of the first member, which is served", "a b c", "- - - -", []*report{remembers(a(), "a x", "c x"), b, blank, nil}, "enroll 2"},
		{"of a member that is served", "a b c", "- - - -", []*report{remembers(a(), "c x", "b x"), b, blank, nil}, "enroll 2"},
		{"of two members that are not", "a b c d e", "- - - -", []*report{remembers(a(), "c x", "d x"), b, blank, at("e", "1", nil)}, "nothing"},
		{"of one that is no member any more", "a b c=d", "- - - -", []*report{remembers(a(), "c x"), b, blank, nil}, "nothing"},
		{"a server that lost its data remembers", "a b c", "- - - -", []*report{remembers(lost("a"), "c x"), b, blank, c}, "enroll 0"},
		{"another member was seen there", "a b c d", "- - d -", []*report{remembers(a(), "c x"), b, blank, at("d", "1", nil)}, "nothing again"},
		{"the address goes first", "x b c", "- - c -", []*report{at("x0", "1", nil), b, blank, nil}, "enroll 2"},
		{"it is at the address of another", "a b x c", "- - c -", []*report{a(), b, blank, c}, "enroll 2"},
	} {
		var was []string
		for _, address := range strings.Fields(x.seen) {
			was = append(was, strings.Trim(address, "-"))
		}
		s := worldOf(&View{Deployment: "d", Version: "1", Table: table(x.table)}, names, was, x.reports)
		if got := name(s.next()); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// A member that is known under another name lacks no master, and is gone when another server
// answers there.
func TestAMemberThatWasSeenIsNotLacking(t *testing.T) {
	t.Parallel()
	names, tab := []string{"x", "y", "z"}, table("a b c")
	first := func(string) int { return 0 }
	for seen, lacks := range map[string]string{"- - -": "b c", "a b -": "c", "a b c": ""} {
		var places []string
		for _, address := range strings.Fields(seen) {
			places = append(places, strings.Trim(address, "-"))
		}
		v := worldOf(nil, names, places, []*report{at("a", "1", nil), nil, nil}).viewOf("d", "1", tab, first)
		if got := strings.Join(v.Lacks, " "); got != lacks {
			t.Errorf("seen %s: %s are lacking, want %s", seen, got, lacks)
		}
	}
	others := []*report{at("a", "1", nil), at("s", "1", nil), at("t", "1", nil)}
	others[1].deployment, others[2].deployment = "other", "other"
	if worldOf(nil, names, nil, others).gone("d", tab) {
		t.Error("members that were seen nowhere are gone")
	}
	if !worldOf(nil, names, []string{"a", "b", "c"}, others).gone("d", tab) {
		t.Error("two of three members are others where they were, and the deployment is not lost")
	}
}

// An operator may call a member by its address, or by that of the master that serves it.
func TestAChangeByAnotherName(t *testing.T) {
	t.Parallel()
	names := []string{"x", "y", "z"}
	reports := []*report{at("a", "1", nil), at("b", "1", nil), at("c", "1", nil)}
	for _, x := range []struct {
		change Change
		want   string
	}{
		{Change{Kind: Suspend, Address: "c"}, "propose a b c:suspended"},
		{Change{Kind: Suspend, Address: "z"}, "propose a b c:suspended"},
		{Change{Kind: Remove, Address: "z"}, "propose a b c:suspended"},
		{Change{Kind: Suspend, Address: "x"}, "propose a:suspended b c"},
		{Change{Kind: Remove, Address: "w"}, "done"},
		{Change{Kind: Replace, Replaced: "c", Address: "z"}, "done"},
		{Change{Kind: Replace, Replaced: "z", Address: "z"}, "done"},
	} {
		s := worldOf(&View{Deployment: "d", Version: "1", Table: table("a b c")}, names, nil, reports)
		if got, err := steps(s, x.change); err != nil || got != x.want {
			t.Errorf("%+v: %s, %v; want %s", x.change, got, err, x.want)
		}
	}
	s := worldOf(&View{Deployment: "d", Version: "1", Table: table("a b c=n:new")}, names, nil, []*report{reports[0], reports[1], at("n", "1", nil)})
	if got, err := steps(s, Change{Kind: Replace, Replaced: "c", Address: "z"}); err != nil || got != "sync 2" {
		t.Errorf("a new member is helped on: %s, %v", got, err)
	}
}
