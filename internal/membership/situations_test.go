package membership

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/redlock-go/redlock/internal/script"
)

// The files in testdata/situations have a row for each situation, and the decision in this situation. A table is
// for example "a b! c:new d=x:suspended": addresses. "!" marks a durable member. "=" precedes an id that is not the
// address. ":" precedes a state other than voting. A report is "-" (no report), "refused", "unfit", "blank", or a
// member's id. The id alone means a member that has known for an hour that version 1 is committed. Words after the id
// change this report: see the function reported.
func TestSituations(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, filepath.Join("testdata", "situations"), func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var all strings.Builder
			for row := range strings.Lines(d.Input) {
				claim, situation, _ := strings.Cut(strings.TrimSpace(row), ": ")
				w := situated(situation)
				fmt.Fprintf(&all, "%s: %s\n", claim, follows(t, d.Cmd, claim, w))
			}
			return all.String()
		})
	})
}

// follows returns the decision in a world, as a text.
func follows(t *testing.T, what, claim string, w world) string {
	switch what {
	case "next":
		is := name(w.next())
		w.uncommitted = true
		if got := name(w.next()); got != "finish" && !strings.HasPrefix(is, "adopt") && !strings.HasPrefix(is, "note") {
			t.Errorf("%s, and a version is not known to be committed: %s", claim, got)
		}
		return is
	case "toward":
		words := strings.Fields(claim)
		c := Change{Kind: words[0], Address: words[len(words)-1]}
		if len(words) == 3 {
			c.Replaced = words[1]
		}
		s, err := w.toward(c)
		if err != nil {
			return "refused: " + err.Error()
		}
		if _, waits := s.(waitFor); waits && !strings.HasPrefix(name(w.next()), "nothing") {
			s = w.next() // while a change waits, the client takes the steps that any client takes
		}
		return name(s)
	case "view":
		return views(w)
	case "gone":
		return fmt.Sprint(w.gone("d", w.view.Table))
	case "ready":
		if _, ready := w.newMembers(); ready != nil {
			return ready.String()
		}
		return "none"
	case "asked":
		next := w.view.Table.without("c")
		if may := w.mayChange(); may != (len(w.members()) >= 2) {
			t.Errorf("%s: a change may be made: %v", claim, may)
		}
		return fmt.Sprintf("%s %s %s", digits(w.members()), digits(w.sources()), digits(w.staying(next)))
	case "beyond-repair":
		return fmt.Sprint(w.beyondRepair())
	case "why":
		w.view = nil
		return fmt.Sprint(w.fault(0))
	case "unlearnable":
		w.view = nil
		return fmt.Sprint(w.unlearnable())
	}
	var all []string
	for _, out := range w.outages() {
		all = append(all, fmt.Sprintf("%s: %v | %s", out.Address, out.Why, out.Mend))
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, "; ")
}

func views(w world) string {
	v := w.viewOf("d", "1", w.view.Table, w.serving)
	var all []string
	for i, out := range v.Out {
		if out != nil {
			all = append(all, w.masters[i].name+" "+strings.TrimPrefix(out.Error(), script.ErrNotMember.Error()+": "))
		}
		if errors.Is(out, ErrNotAdmitted) {
			all = append(all, "not admitted")
		}
	}
	if v.Lacks != nil {
		all = append(all, "lacks "+strings.Join(v.Lacks, " "))
	}
	return strings.Join(append(all, fmt.Sprintf("short %v, needs init %v", v.Short(), v.NeedsInit)), "; ")
}

// situated returns the world of a text "table | reports | names". The masters have these names. "name~address" is
// a master that was last the member with this address.
func situated(text string) world {
	parts := strings.Split(text, " | ")
	words := strings.Fields(parts[1])
	names := strings.Fields("a b c d e f")[:len(words)]
	if len(parts) > 2 {
		names = strings.Fields(parts[2])
	}
	w := world{now: 1, view: &View{Deployment: "d", Version: "1", Table: table(parts[0])}}
	for i, name := range names {
		m := observed{}
		m.name, m.was, _ = strings.Cut(name, "~")
		if i < len(words) {
			reported(&m, words[i], w.view.Table)
		}
		w.masters = append(w.masters, m)
	}
	w.view = w.viewOf("d", "1", w.view.Table, w.serving)
	return w
}

// reported gives m the report that the text describes.
func reported(m *observed, text string, t *Table) {
	words := strings.Split(text, "/")
	switch words[0] {
	case "-":
		return
	case "refused":
		m.fault = errors.New("connection refused")
		return
	case "unfit":
		m.fault = fmt.Errorf("%w: it may evict keys", script.ErrNotMember)
		return
	}
	r := at(words[0], "1", t)
	r.learned, r.known = true, time.Hour
	if words[0] == "blank" {
		is := *blank
		r = &is
	}
	for _, word := range words[1:] {
		what, value, _ := strings.Cut(word, "=")
		switch what {
		case "new": // a new id
			r.version, r.table = "", nil
		case "in":
			r.deployment = value
		case "of":
			r.table = table(strings.ReplaceAll(value, "+", " "))
		case "prev":
			r.table.Prev = strings.Split(value, "+")
		case "bare":
			r.table = nil
		case "lost":
			r = lost(r.id)
		case "damaged": // the server restarted, and still has the table
			table := r.table
			r = lost(r.id)
			r.table = table
		case "started": // the server started a moment ago
			r.up = 9 * time.Second
		case "evicted":
			r.forgot = "it evicted keys"
		case "for": // the member has known for this time that the version is committed
			r.known, _ = time.ParseDuration(value)
		case "accepted": // the member does not know that the version is committed
			r.learned = false
		case "synced":
			r.synced = "1"
		case "claim":
			r = &report{run: "r", idRun: "r", id: r.id, deployment: r.deployment, claim: "a"}
		case "knows": // the server remembers a name of a member
			id, name, _ := strings.Cut(value, "@")
			if r.names == nil {
				r.names = map[string][]string{}
			}
			r.names[id] = append(r.names[id], name)
		case "unable":
			m.unable = 2
		case "back": // the server restarted, and is durable
			r.idRun, r.durable, r.durably, r.aof = "before", durable, true, "loaded"
		case "weak": // the server's settings are not durable any more, and this is noted
			r.durable, r.durably, r.noted = NotDurable, true, true
		case "unnoted":
			r.durable, r.durably = NotDurable, true
		case "mended":
			r.durable, r.durably, r.noted = durable, true, true
		case "rewriting":
			r.durable, r.durably, r.noted, r.aof = durable, true, true, "rewriting"
		default:
			r.version = what
		}
	}
	m.report = r
}
