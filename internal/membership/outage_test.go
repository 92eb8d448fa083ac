package membership

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/script"
)

func TestWhichMembersAreOut(t *testing.T) {
	t.Parallel()
	a, b := at("a", "1", nil), at("b", "1", nil)
	behind := at("b", "0", nil)
	synced := at("n", "1", nil)
	synced.synced = "1"
	other := at("o", "1", nil)
	other.deployment = "other"
	refused := errors.New("connection refused")
	names := []string{"a", "b", "x"}
	for _, x := range []struct {
		what    string
		table   string
		seen    string // behind the last master
		reports []*report
		faults  []error
		want    string // address, why and what to do
	}{
		{"all vote", "a b x", "", []*report{a, b, at("x", "1", nil)}, nil, ""},
		{"one is suspended", "a b x:suspended", "", []*report{a, b, nil}, nil, ""},
		{"one is not in the list", "a b c", "", []*report{a, b, nil}, nil, ""},
		{"its server is down", "a b x", "", []*report{a, b, nil}, []error{nil, nil, refused}, "x: its server does not answer: connection refused | start its server, or redlock members replace x NEW"},
		{"its server may not vote", "a b x", "", []*report{a, b, nil}, []error{nil, nil, fmt.Errorf("%w: it may evict keys", script.ErrNotMember)}, "x: its server may not vote as it is: redlock: master is no voting member: it may evict keys | set that right, or redlock members replace x NEW"},
		{"under another name", "a b c", "c", []*report{a, b, nil}, []error{nil, nil, refused}, "c: its server does not answer: connection refused | start its server, or redlock members replace c NEW"},
		{"its server lost its data", "a b c", "c", []*report{a, b, lost("c")}, nil, "c: its server at x: it restarted, and may have lost data | redlock members replace c x"},
		{"another server is there", "a b x", "", []*report{a, b, at("y", "1", nil)}, nil, "x: its server at x lost its data, or is another one | redlock members replace x x"},
		{"a server may be it", "a b c", "", []*report{a, b, blank}, nil, "c: none of the masters that were given is known to be its server, which may be x, without its data | give its server too; if that is x, and lost its data: redlock members replace c x"},
		{"it is new, and stays so", "a b x=n:new", "", []*report{a, b, synced}, nil, "x: it is new, and no client has brought it back | redlock members replace x x"},
		{"the first, and it has no counters yet", "a=n:new b x", "", []*report{at("n", "1", nil), b, at("x", "1", nil)}, nil, "a: it is new, and no client has brought it back | redlock members replace a a"},
		{"it has them, and others lag behind", "a b x=n:new", "", []*report{a, behind, synced}, nil, "x: it is new, and no client has brought it back | redlock members replace x x"},
		{"the server of the first is down", "a b x", "", []*report{nil, b, at("x", "1", nil)}, []error{refused, nil, nil}, "a: its server does not answer: connection refused | start its server, or redlock members replace a NEW"},
		{"the first server may be it", "c b x", "", []*report{blank, b, at("x", "1", nil)}, nil, "c: none of the masters that were given is known to be its server, which may be a, without its data | give its server too; if that is a, and lost its data: redlock members replace c a"},
		{"a server of others is not it", "a b c", "", []*report{a, b, other}, nil, ""},
		{"too few have counters", "a b x=n:new", "", []*report{a, behind, at("n", "1", nil)}, nil, "x: it lacks counters: 1 members that have them answer, and 2 are needed | bring back the others; if their data is gone: redlock init --force"},
	} {
		w := worldOf(&View{Deployment: "d", Version: "1", Table: table(x.table)}, names, []string{"", "", x.seen}, x.reports)
		for i, fault := range x.faults {
			w.masters[i].fault = fault
		}
		var got []string
		for _, out := range w.outages() {
			got = append(got, fmt.Sprintf("%s: %v | %s", out.Address, out.Why, out.Mend))
		}
		if text := strings.Join(got, "; "); text != x.want {
			t.Errorf("%s:\n%s, want\n%s", x.what, text, x.want)
		}
	}
}
