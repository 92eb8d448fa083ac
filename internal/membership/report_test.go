package membership

import (
	"errors"
	"testing"
)

// The state of a server follows from its register and from lost data.
func TestReportState(t *testing.T) {
	type reportState struct{ blank, intact, isNew, returns, doubtful, weakened bool }
	for _, x := range []struct {
		claim  string
		change func(*report) // turns the report of a durable member into the report to test
		want   reportState
	}{
		{"a member", func(*report) {}, reportState{intact: true}},
		{"a new id", func(r *report) { r.version = "" }, reportState{intact: true, isNew: true}},
		{"an id with something unreadable", func(r *report) { r.version, r.bad = "", errors.New("bad") }, reportState{}},
		{"no id", func(r *report) { r.id = "" }, reportState{}},
		{"nothing", func(r *report) { *r = report{run: "r"} }, reportState{blank: true}},
		{"nothing that can be read", func(r *report) { *r = report{run: "r", bad: errors.New("bad")} }, reportState{}},
		{"weaker settings now", func(r *report) { r.durable = NotDurable }, reportState{intact: true, weakened: true}},
		{"an AOF that was off for a while", func(r *report) { r.weak = "its AOF was off" }, reportState{intact: true, weakened: true}},
		{"weaker settings, which its table has", func(r *report) { r.durable, r.durably = NotDurable, false }, reportState{intact: true}},
		{"settings that may not be read", func(r *report) { r.durable = unknown }, reportState{intact: true}},
		{"it evicted keys, or was a replica since it got its id", func(r *report) { r.forgot = "it evicted keys" }, reportState{}},

		{"it restarted", restarted, reportState{returns: true}},
		{"… and has no id", func(r *report) { restarted(r); r.id = "" }, reportState{}},
		{"… and was not durable", func(r *report) { restarted(r); r.durably = false }, reportState{}},
		{"… and is not durable any more", func(r *report) { restarted(r); r.durable = NotDurable }, reportState{}},
		{"… and its AOF was switched on since", func(r *report) { restarted(r); r.aof = "on" }, reportState{}},
		{"… that may not be read", func(r *report) { restarted(r); r.durable = unknown }, reportState{}},
		{"… and was a replica", func(r *report) { restarted(r); r.replica = true }, reportState{doubtful: true}},
		{"… and was a replica, which is noted", func(r *report) { restarted(r); r.replica, r.durably = true, false }, reportState{}},
		{"… and cannot be read", func(r *report) { restarted(r); r.bad = errors.New("bad") }, reportState{}},
	} {
		r := &report{run: "r", idRun: "r", deployment: "d", id: "a", acceptedTable: acceptedTable{version: "1"}, durable: durable, durably: true, aof: "loaded"}
		x.change(r)
		if got := (reportState{r.blank(), r.intact(), r.isNew(), r.returns(), r.doubtful(), r.weakened()}); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, x.want)
		}
	}
}

func restarted(r *report) { r.idRun = "before" }

func TestReadRegister(t *testing.T) {
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
	// A table that cannot be read has no version, so no votes count at its version.
	r = &report{}
	r.read(map[string]string{"id": "a", "version": "2", "table": "{"})
	if r.version != "" || r.bad == nil {
		t.Errorf("%+v", r)
	}
}
