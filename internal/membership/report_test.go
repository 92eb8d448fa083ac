package membership

import (
	"errors"
	"testing"
)

// What a server may do follows from its register, and from whether it lost anything.
func TestWhatReportsTell(t *testing.T) {
	type told struct{ blank, intact, isNew, adoptable, weakened, doubtful bool }
	for _, x := range []struct {
		claim  string
		change func(*report) // of a durable member that answers
		want   told
	}{
		{"a member", func(*report) {}, told{intact: true}},
		{"a new id", func(r *report) { r.version = "" }, told{intact: true, isNew: true}},
		{"an id with something unreadable", func(r *report) { r.version, r.bad = "", errors.New("bad") }, told{}},
		{"no id", func(r *report) { r.id = "" }, told{}},
		{"nothing", func(r *report) { *r = report{run: "r"} }, told{blank: true}},
		{"nothing that can be read", func(r *report) { *r = report{run: "r", bad: errors.New("bad")} }, told{}},
		{"weaker settings now", func(r *report) { r.durable = NotDurable }, told{intact: true, weakened: true}},
		{"weaker settings as before", func(r *report) { r.durable, r.wasDurable = NotDurable, false }, told{intact: true}},
		{"settings that it may not tell", func(r *report) { r.durable = unknown }, told{intact: true}},

		{"it restarted", restarted, told{adoptable: true}},
		{"… and has no id", func(r *report) { restarted(r); r.id = "" }, told{}},
		{"… and was not durable", func(r *report) { restarted(r); r.wasDurable = false }, told{}},
		{"… and is not durable any more", func(r *report) { restarted(r); r.durable = NotDurable }, told{doubtful: true}},
		{"… and may not tell", func(r *report) { restarted(r); r.durable = unknown }, told{}},
		{"… and was neither", func(r *report) { restarted(r); r.durable, r.wasDurable = NotDurable, false }, told{}},
		{"… and was a replica", func(r *report) { restarted(r); r.replid2 = "b" }, told{doubtful: true}},
		{"… and was a replica, and may not tell", func(r *report) { restarted(r); r.replid2, r.durable = "b", unknown }, told{doubtful: true}},
		{"… and was a replica, which is noted", func(r *report) { restarted(r); r.replid2, r.wasDurable = "b", false }, told{}},
		{"… and was a replica, and has no id", func(r *report) { restarted(r); r.replid2, r.id = "b", "" }, told{}},
		{"… and was a replica, and cannot be read", func(r *report) { restarted(r); r.replid2, r.bad = "b", errors.New("bad") }, told{}},
		{"it was a replica before it got its id", func(r *report) { r.replid2, r.idReplid2 = "b", "b" }, told{intact: true}},
		{"it was a replica since", func(r *report) { r.replid2 = "b" }, told{}},
		{"it was a replica before, and once more since", func(r *report) { r.replid2, r.idReplid2 = "c", "b" }, told{}},
		{"it was a replica before, which Redis has forgotten", func(r *report) { r.idReplid2 = "b" }, told{intact: true}},
		{"… and cannot be read", func(r *report) { restarted(r); r.bad = errors.New("bad") }, told{}},
	} {
		r := &report{run: "r", idRun: "r", deployment: "d", id: "a", version: "1", wasDurable: true, durable: durable}
		x.change(r)
		if got := (told{r.blank(), r.intact(), r.isNew(), r.adoptable(), r.weakened(), r.doubtful()}); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, x.want)
		}
	}
}

func restarted(r *report) { r.idRun = "before" }

func TestTheRegisterIsRead(t *testing.T) {
	table := table("a b c")
	r := &report{}
	r.read(map[string]string{
		"deployment": "d", "id": "a", "run": "r", "durable": "yes", "promised": "3", "version": "2", "learned": "1 2",
		"synced": "1", "claim": "a,b", "claimed": "4", "table": table.text(),
	})
	if r.deployment != "d" || r.id != "a" || r.idRun != "r" || !r.wasDurable || r.promised != "3" || r.version != "2" || !r.learned ||
		r.synced != "1" || r.claim != "a,b" || r.claimed != "4" || r.table.String() != table.String() || r.bad != nil {
		t.Errorf("%+v", r)
	}
	r = &report{}
	r.read(map[string]string{"id": "a", "durable": "no", "version": "2"})
	if r.wasDurable || r.learned || r.version != "2" || r.table != nil || r.bad != nil {
		t.Errorf("%+v", r)
	}
	// What cannot be read is no version that votes could count at.
	r = &report{}
	r.read(map[string]string{"id": "a", "version": "2", "table": "{"})
	if r.version != "" || r.bad == nil {
		t.Errorf("%+v", r)
	}
}
