package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// report is a server's report of its state, on a new connection or on request.
type report struct {
	asked   clock.Instant // when the report was asked for
	run     string        // the run id of the process that answered
	up      time.Duration // for how long that process had run, in full seconds
	durable durability
	aof     string // 'off', 'on', 'loaded' or 'rewriting': see stateOfAOF in scripts/member.lua
	forgot  string // why the server lacks data of its id, although it did not restart; "" if it lacks none
	replica bool   // the server has been a replica since it started

	// The contents of the server's register; all zero if the server has none.
	deployment string
	id         string // the member id; "" if the server lost it with a part of its data
	idRun      string // the run id of the process that has the id
	durably    bool   // the server is durable by its table, and is not noted as a former replica
	noted      bool   // the register has the note that the server is not durable any more
	weak       string // why a server that is durable by its table may not vote; "" if it may
	promised   string
	acceptedTable
	synced  string // the version at which the server got the counters of a quorum
	claim   string // the addresses of an init that is under way; see claim.lua
	claimed string // the ballot of that init

	// names has the names under which clients reached members, by member id.
	names map[string][]string

	bad error // why the register cannot be read, or is not for this library
}

// acceptedTable is the table that a server accepted last; zero if it has accepted none.
type acceptedTable struct {
	version string
	table   *Table
	learned bool          // the server knows that this version is committed
	known   time.Duration // for how long the server has known this, by its own clock; below 0 if the clock was set back
}

// greeting returns the requests for a report. Each CONFIG GET has one parameter: Redis 6 takes no more.
func greeting(key string) []master.Command {
	return []master.Command{
		master.Text("info"),
		master.Pairs("eval", script.ReportSource, 1, key),
		master.Pairs("config", "get", "appendonly"),
		master.Pairs("config", "get", "appendfsync"),
		master.Pairs("config", "get", "no-appendfsync-on-rewrite"),
	}
}

// report asks a master for its report. It also sends the requests in rights, and fails if the replies to
// these show that a right is missing.
func (g *Group) report(m *master.Master, rights ...master.Command) (*report, error) {
	ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
	defer cancel()
	asked, at := greeting(g.key), g.Now()
	replies, err := m.Do(ctx, append(asked, rights...)...)
	if err != nil {
		return nil, err
	}
	r, err := readReport(g.key, replies[:len(asked)])
	if errors.Is(err, script.ErrNotMember) {
		m.Leave(err)
	}
	if err != nil {
		return nil, err
	}
	if len(rights) > 0 {
		if err := lacking(replies[len(asked):]); err != nil {
			return nil, err
		}
	}
	r.asked = at
	return r, nil
}

// readReport parses the replies to greeting. It returns an error if the server cannot be a master. It
// checks INFO first, because a Sentinel and a node of a cluster refuse the commands after INFO.
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
	fields := replies[1].Pairs()
	if why := fields[".unfit"]; why != "" {
		return nil, fmt.Errorf("%w: %s", script.ErrNotMember, why)
	}
	config := make(map[string]string)
	for _, r := range replies[2:] {
		maps.Copy(config, r.Pairs())
	}
	seconds, _ := strconv.ParseInt(info["uptime_in_seconds"], 10, 64)
	r := &report{run: fields[".run"], up: time.Duration(seconds) * time.Second, forgot: fields[".forgot"], replica: fields[".replica"] != "", durable: durabilityOf(config), aof: fields[".aof"]}
	if r.aof == "off" {
		r.durable = NotDurable // this is known even if the user may not read the settings
	}
	if fields[".type"] != "" {
		r.bad = fmt.Errorf("its register is of another type: something else wrote it")
		return r, nil
	}
	r.read(fields)
	return r, nil
}

// read parses the register; scripts/member.lua describes its fields.
func (r *report) read(fields map[string]string) {
	r.deployment, r.id, r.idRun = fields["deployment"], fields["id"], fields["run"]
	r.durably, r.noted, r.weak = fields["durable"] == "yes", fields["weak"] != "", fields[".weak"]
	r.promised, r.version = fields["promised"], fields["version"]
	r.learned, r.synced, r.claim = fields["learned"] != "", fields["synced"], fields["claim"]
	r.claimed = fields["claimed"]
	ms, _ := strconv.ParseInt(fields[".known"], 10, 64)
	r.known = time.Duration(ms) * time.Millisecond
	r.names = map[string][]string{}
	for field, value := range fields {
		if id, is := strings.CutPrefix(field, "names:"); is {
			r.names[id] = strings.Split(value, "\n")
		}
	}
	if text := fields["table"]; text != "" {
		if r.table, r.bad = parseTable(text); r.bad != nil {
			r.version = ""
		}
	}
}

// intact reports whether the server has an id, and all data that it stored under this id. It is false for a nil report.
func (r *report) intact() bool {
	return r != nil && r.id != "" && r.idRun == r.run && r.bad == nil && r.forgot == ""
}

// is() reports whether the server is the member with this id.
func (r *report) is(id string) bool { return r.intact() && r.id == id }

// votedAt reports whether the server's counters at the view's version are complete.
func (r *report) votedAt(v *View) bool {
	if !r.intact() || r.version != v.Version {
		return false
	}
	state := v.Table.stateOf(r.id)
	return state == Voting || state == Suspended
}

// blank reports whether the server shows no sign of earlier use.
func (r *report) blank() bool { return r.deployment == "" && r.bad == nil }

// isNew reports whether the server has an id that no table has ever listed.
func (r *report) isNew() bool { return r.intact() && r.version == "" }

// returns() reports whether the server restarted, and has all its data, as far as its own table, its
// settings and its AOF show. But a newer table may list the server as not durable.
func (r *report) returns() bool {
	return r.restarted() && !r.replica && r.durable == durable && r.aof == "loaded"
}

// doubtful reports whether the server restarted, and has been a replica since then. This must be noted in
// the register, because after the next restart nothing else shows it.
func (r *report) doubtful() bool { return r.restarted() && r.replica }

// restarted reports whether the server restarted, and was durable before, by its own table.
func (r *report) restarted() bool {
	return r.id != "" && r.idRun != r.run && r.bad == nil && r.durably
}

// toNote reports whether the note of lost durability must be written or cleared. The note stays while
// the AOF is rewritten, because an AOF that was off is complete only after a rewrite.
func (r *report) toNote() bool {
	weak := r.durable == NotDurable || r.noted && (r.durable == unknown || r.aof == "rewriting")
	return weak != r.noted && r.intact() && r.durably
}

// weakened reports whether the server is durable by its table, but no longer by its settings. Such a
// server may lose what it promises and accepts from now on.
func (r *report) weakened() bool {
	return r.intact() && r.durably && (r.weak != "" || r.durable == NotDurable)
}

// condition describes why the server cannot be a member in its present state; "" if it can.
func (r *report) condition() string {
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

// state describes the state of the server, for callers that do not know the members.
func (r *report) state() string {
	switch why := r.condition(); {
	case why != "":
		return why
	case r.table == nil:
		return "it belongs to deployment " + r.deployment + ", but is no member"
	case r.table.find(r.id) == nil:
		return "it was a member of deployment " + r.deployment
	}
	return fmt.Sprintf("it is a %s member of deployment %s, version %d", r.table.stateOf(r.id), r.deployment, versionNumber(r.version))
}
