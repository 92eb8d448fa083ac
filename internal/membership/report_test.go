package membership

import (
	"errors"
	"testing"
)

// What a server may do follows from its register, and from whether it lost anything.
func TestWhatReportsTell(t *testing.T) {
	type told struct{ blank, intact, isNew, returns, doubtful, weakened bool }
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
		{"an AOF that was off for a while", func(r *report) { r.weak = "its AOF was off" }, told{intact: true, weakened: true}},
		{"weaker settings, which its table has", func(r *report) { r.durable, r.durably = NotDurable, false }, told{intact: true}},
		{"settings that it may not tell", func(r *report) { r.durable = unknown }, told{intact: true}},
		{"it evicted keys, or was a replica since it got its id", func(r *report) { r.forgot = "it evicted keys" }, told{}},

		{"it restarted", restarted, told{returns: true}},
		{"… and has no id", func(r *report) { restarted(r); r.id = "" }, told{}},
		{"… and was not durable", func(r *report) { restarted(r); r.durably = false }, told{}},
		{"… and is not durable any more", func(r *report) { restarted(r); r.durable = NotDurable }, told{}},
		{"… and its AOF was switched on since", func(r *report) { restarted(r); r.aof = "on" }, told{}},
		{"… and may not tell", func(r *report) { restarted(r); r.durable = unknown }, told{}},
		{"… and was a replica", func(r *report) { restarted(r); r.replica = true }, told{doubtful: true}},
		{"… and was a replica, which is noted", func(r *report) { restarted(r); r.replica, r.durably = true, false }, told{}},
		{"… and cannot be read", func(r *report) { restarted(r); r.bad = errors.New("bad") }, told{}},
	} {
		r := &report{run: "r", idRun: "r", deployment: "d", id: "a", acceptedTable: acceptedTable{version: "1"}, durable: durable, durably: true, aof: "loaded"}
		x.change(r)
		if got := (told{r.blank(), r.intact(), r.isNew(), r.returns(), r.doubtful(), r.weakened()}); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, x.want)
		}
	}
}

func restarted(r *report) { r.idRun = "before" }

func TestTheRegisterIsRead(t *testing.T) {
	table := table("a b c")
	r := &report{}
	r.read(map[string]string{
		"deployment": "d", "id": "a", "run": "r", "durable": "yes", ".weak": "its AOF was off", "promised": "3", "version": "2", "learned": "1 2",
		"synced": "1", "claim": "a,b", "claimed": "4", "table": table.text(),
	})
	if r.deployment != "d" || r.id != "a" || r.idRun != "r" || !r.durably || r.weak == "" || r.promised != "3" || r.version != "2" || !r.learned ||
		r.synced != "1" || r.claim != "a,b" || r.claimed != "4" || r.table.String() != table.String() || r.bad != nil {
		t.Errorf("%+v", r)
	}
	r = &report{}
	r.read(map[string]string{"id": "a", "version": "2"})
	if r.weak != "" || r.learned || r.version != "2" || r.table != nil || r.bad != nil {
		t.Errorf("%+v", r)
	}
	// What cannot be read is no version that votes could count at.
	r = &report{}
	r.read(map[string]string{"id": "a", "version": "2", "table": "{"})
	if r.version != "" || r.bad == nil {
		t.Errorf("%+v", r)
	}
}
