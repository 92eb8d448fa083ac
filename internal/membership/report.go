package membership

import (
	"fmt"
	"maps"
	"strings"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// report is what a server says of itself, when a connection to it is new or when it is asked.
type report struct {
	run     string // of the process that answered
	durable durability
	replid2 string // its replication id as a replica, if it was one once; see ServerInfo.replicaID

	// What is in its register; all zero if it has none.
	deployment string
	id         string // the member id; "" if its data is no member's any more
	idRun      string // the process that the id is of
	wasDurable bool
	idReplid2  string // replid2 when it got the id
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
		master.Pairs("hgetall", key),
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
	config := make(map[string]string)
	for _, r := range replies[2:] {
		maps.Copy(config, r.Pairs())
	}
	r := &report{run: info["run_id"], durable: durabilityOf(config), replid2: info.replicaID()}
	if err := replies[1].Err(); master.HasPrefix(err, "WRONGTYPE") {
		r.bad = fmt.Errorf("its register is of another type: something else wrote it")
	} else if err != nil {
		return nil, fmt.Errorf("%w (HGETALL %s)", err, key)
	}
	r.read(replies[1].Pairs())
	return r, nil
}

// read reads the register; scripts/member.lua tells what the fields are.
func (r *report) read(fields map[string]string) {
	r.deployment, r.id, r.idRun = fields["deployment"], fields["id"], fields["run"]
	r.wasDurable, r.idReplid2 = fields["durable"] == string(durable), fields["replid2"]
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
	return r.id != "" && r.idRun == r.run && r.bad == nil && !r.wasReplicaSince()
}

// wasReplicaSince reports that the server was a replica after it got its id, and was promoted.
func (r *report) wasReplicaSince() bool { return r.replid2 != "" && r.replid2 != r.idReplid2 }

// isNew reports that the server has an id that no table has ever listed.
func (r *report) isNew() bool { return r.intact() && r.version == "" }

// adoptable reports that the server restarted, and forgot nothing.
func (r *report) adoptable() bool {
	return r.durableBefore() && r.durable == durable && r.replid2 == ""
}

// doubtful reports that the server restarted, may have forgotten something, and would be taken for
// one that forgot nothing when it restarts again.
func (r *report) doubtful() bool {
	return r.durableBefore() && (r.durable == NotDurable || r.replid2 != "")
}

// durableBefore reports that the server restarted, and that its register says that it was durable
// until then.
func (r *report) durableBefore() bool {
	return r.id != "" && r.idRun != r.run && r.wasDurable && r.bad == nil
}

// weakened reports that the server would be taken for durable when it restarts, and is not any
// more.
func (r *report) weakened() bool { return r.intact() && r.wasDurable && r.durable == NotDurable }

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
	case r.wasReplicaSince():
		return "it was a replica for a while, and may lack data"
	}
	return ""
}
