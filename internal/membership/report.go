package membership

import (
	"fmt"
	"maps"
	"strings"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// report is what a server says of itself, when a connection to it is new or when it is asked.
type report struct {
	asked   clock.Instant // when it was asked for
	run     string        // of the process that answered
	durable durability
	aof     string // 'off', 'on', 'loaded' or 'rewriting': scripts/report.lua
	forgot  string // why its data is not what its id stands for, although it did not restart; "" if it is
	replica bool   // it was a replica since it started

	// What is in its register; all zero if it has none.
	deployment string
	id         string // the member id; "" if its data is no member's any more
	idRun      string // the process that the id is of
	durably    bool   // it is durable by its table, and was no replica since
	noted      bool   // that it is not any more
	weak       string // why it may not vote although it is durable by its table; "" if it may
	promised   string
	version    string // of the table that it accepted last
	table      *Table
	learned    bool   // it knows that this version is committed
	synced     string // the version at which its counters were raised to a quorum's
	claim      string // the list of an init that is under way; see claim.lua
	claimed    string // its ballot

	// names are those under which clients reached members, by member id.
	names map[string][]string

	bad error // its register cannot be read, or is not for this library
}

// greeting asks for a report. CONFIG GET has one parameter a command: Redis 6 knows no more.
func greeting(key string) []master.Command {
	return []master.Command{
		master.Text("info"),
		master.Pairs("eval", script.ReportSource, 1, key),
		master.Pairs("config", "get", "appendonly"),
		master.Pairs("config", "get", "appendfsync"),
		master.Pairs("config", "get", "no-appendfsync-on-rewrite"),
	}
}

// readReport reads the replies. The error is why the server can be no master: a Sentinel and a node
// of a cluster refuse the commands that come after INFO.
func readReport(key string, replies []master.Reply) (*report, error) {
	if err := replies[0].Err(); err != nil {
		return nil, err
	}
	info := ParseInfo(replies[0].Text())
	if why := info.unfit(); why != "" {
		return nil, fmt.Errorf("%w: %s", script.ErrNotMember, why)
	}
	if err := replies[1].Err(); err != nil {
		return nil, fmt.Errorf("%w (HGETALL %s)", err, key)
	}
	said := replies[1].Pairs()
	if why := said[".unfit"]; why != "" {
		return nil, fmt.Errorf("%w: %s", script.ErrNotMember, why)
	}
	config := make(map[string]string)
	for _, r := range replies[2:] {
		maps.Copy(config, r.Pairs())
	}
	r := &report{run: said[".run"], forgot: said[".forgot"], replica: said[".replica"] != "", durable: durabilityOf(config), aof: said[".aof"]}
	if r.aof == "off" {
		r.durable = NotDurable // also if the user may not read the settings
	}
	if said[".type"] != "" {
		r.bad = fmt.Errorf("its register is of another type: something else wrote it")
		return r, nil
	}
	r.read(said)
	return r, nil
}

// read reads the register; scripts/member.lua tells what the fields are.
func (r *report) read(fields map[string]string) {
	r.deployment, r.id, r.idRun = fields["deployment"], fields["id"], fields["run"]
	r.durably, r.noted, r.weak = fields["durable"] == "yes", fields["weak"] != "", fields[".weak"]
	r.promised, r.version = fields["promised"], fields["version"]
	r.learned, r.synced, r.claim = fields["learned"] != "", fields["synced"], fields["claim"]
	r.claimed = fields["claimed"]
	for field, value := range fields {
		if id, is := strings.CutPrefix(field, "names:"); is {
			if r.names == nil {
				r.names = map[string][]string{}
			}
			r.names[id] = strings.Split(value, "\n")
		}
	}
	if text := fields["table"]; text != "" {
		if r.table, r.bad = parseTable(text); r.bad != nil {
			r.version = ""
		}
	}
}

// blank reports that nothing says that the server was ever used.
func (r *report) blank() bool { return r.deployment == "" && r.bad == nil }

// intact reports that the server's data is what its id stands for.
func (r *report) intact() bool {
	return r.id != "" && r.idRun == r.run && r.bad == nil && r.forgot == ""
}

// isNew reports that the server has an id that no table has ever listed.
func (r *report) isNew() bool { return r.intact() && r.version == "" }

// returns reports that the server restarted, and may have forgotten nothing, by its own table: a
// newer one may say that it is not durable.
func (r *report) returns() bool {
	return r.restarted() && !r.replica && r.durable == durable && r.aof == "loaded"
}

// doubtful reports that the server restarted and was a replica since: after its next restart,
// nothing but a note would say so.
func (r *report) doubtful() bool { return r.restarted() && r.replica }

// restarted reports that the server did, and was durable until then by its own table.
func (r *report) restarted() bool {
	return r.id != "" && r.idRun != r.run && r.bad == nil && r.durably
}

// toNote reports that the note on the server, that it is not durable any more, is not what it is.
// An AOF that was off is complete when it was rewritten.
func (r *report) toNote() bool {
	weak := r.durable == NotDurable || r.noted && (r.durable == unknown || r.aof == "rewriting")
	if weak == r.noted {
		return false
	}
	return r.intact() && r.durably
}

// weakened reports that the server is durable by its table, and is not any more: what it promises
// and accepts now, it may forget.
func (r *report) weakened() bool {
	return r.intact() && r.durably && (r.weak != "" || r.durable == NotDurable)
}

// fault tells an operator why the server can be nobody's member as it is, or "".
func (r *report) fault() string {
	switch {
	case r.bad != nil:
		return r.bad.Error()
	case r.blank():
		return "it belongs to no deployment: it is new, or lost all its data"
	case r.claim != "":
		return "an init that includes it was not finished: run `redlock init` again"
	case r.id == "":
		return "it lost a counter, and is no member any more"
	case r.idRun != r.run:
		return "it restarted, and may have lost data"
	case r.forgot != "":
		return r.forgot
	}
	return ""
}
