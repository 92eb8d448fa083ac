package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/script"
)

// State is a member's state in a table.
type State string

// The states of a member.
const (
	Voting    State = "voting"
	New       State = "new"       // it may lack counters: it does not vote yet
	Suspended State = "suspended" // it lacks no data, but does not vote
)

// Member is one place in a table.
type Member struct {
	ID      string `json:"id"` // random; identifies one server's data: a server that lost its data gets another id
	State   State  `json:"state"`
	Address string `json:"address"` // the canonical address, which the operator gave

	// Durable: every write is on disk before it is answered, so the server keeps its id when it
	// restarts. A member that lost its durability is never durable again under this id.
	Durable bool `json:"durable"`
}

// Table lists the members with their states, and the settings that all clients of the deployment share.
type Table struct {
	Format  string   `json:"format"` // of the keys
	Buckets int      `json:"buckets"`
	MaxTTL  int64    `json:"maxTTL"` // ms
	Drift   float64  `json:"drift"`
	Members []Member `json:"members"`
	Prev    []string `json:"prev"` // the ids of the previous table's members
}

// format is the layout of the keys. A deployment with another layout is refused.
const format = "5"

// parseTable parses the text of a table.
func parseTable(text string) (*Table, error) {
	var t Table
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, fmt.Errorf("the table of members cannot be read: %w", err)
	}
	switch {
	case t.Format != format || t.Buckets != script.Buckets:
		return nil, fmt.Errorf("its keys are of format %.20q with %d buckets, this library's are of format %s with %d", t.Format, t.Buckets, format, script.Buckets)
	case len(t.Members) == 0 || t.MaxTTL <= 0 || t.MaxTTL > script.MaxRemaining.Milliseconds() || !(t.Drift >= 0 && t.Drift < 1):
		return nil, errors.New("the table of members has none, or impossible settings")
	}
	return &t, nil
}

// text returns the text of the table, for parseTable.
func (t *Table) text() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // impossible: JSON can represent each field
	}
	return string(text)
}

// Quorum returns how many members are a quorum: more than half of all members, in any state.
func (t *Table) Quorum() int { return majorityOf(len(t.Members)) }

func majorityOf(n int) int { return n/2 + 1 }

// MaxLease returns the longest ttl of the deployment.
func (t *Table) MaxLease() time.Duration { return time.Duration(t.MaxTTL) * time.Millisecond }

// Quarantine returns how long a quarantine lasts: the longest ttl plus the drift. When members have known
// for this time that a change is committed, all earlier grants are over. (One of the two added
// milliseconds is for the resolution of expiry, the other for the resolution of the stored times.)
func (t *Table) Quarantine() time.Duration {
	return t.MaxLease() + time.Duration(float64(t.MaxLease())*t.Drift) + 2*time.Millisecond
}

func (t *Table) find(id string) *Member {
	return t.first(func(m Member) bool { return m.ID == id && id != "" })
}

func (t *Table) at(address string) *Member {
	return t.first(func(m Member) bool { return m.Address == address })
}

func (t *Table) first(is func(Member) bool) *Member {
	if i := slices.IndexFunc(t.Members, is); i >= 0 {
		return &t.Members[i]
	}
	return nil
}

// stateOf returns the state of the member with this id; "" if there is none.
func (t *Table) stateOf(id string) State {
	if m := t.find(id); m != nil {
		return m.State
	}
	return ""
}

// isDurable reports whether the member with this id is durable.
func (t *Table) isDurable(id string) bool {
	m := t.find(id)
	return m != nil && m.Durable
}

func (t *Table) ids() []string { return t.each(func(m Member) string { return m.ID }) }

// each returns text(m) for each member m, in order.
func (t *Table) each(text func(Member) string) []string {
	all := make([]string, len(t.Members))
	for i, m := range t.Members {
		all[i] = text(m)
	}
	return all
}

// concerns reports whether t or the previous table lists the member with this id.
func (t *Table) concerns(id string) bool { return t.find(id) != nil || slices.Contains(t.Prev, id) }

func (t *Table) voting() int {
	n := 0
	for _, m := range t.Members {
		if m.State == Voting {
			n++
		}
	}
	return n
}

// addresses returns the addresses of the members, for messages.
func (t *Table) addresses() string {
	return strings.Join(t.each(func(m Member) string { return m.Address }), ", ")
}

// next returns a copy of t. The caller changes this copy into the table that follows t.
func (t *Table) next() *Table {
	n := *t
	n.Members = slices.Clone(t.Members)
	n.Prev = t.ids()
	return &n
}

// without returns the table that follows t, without the member with this id.
func (t *Table) without(id string) *Table {
	n := t.next()
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.ID == id })
	return n
}

// committed reports whether t is committed when the members with these ids have accepted it: whether
// they include a majority of t's members, and a majority of the previous table's members.
func (t *Table) committed(accepted map[string]bool) bool {
	return majority(t.ids(), accepted) && majority(t.Prev, accepted)
}

func majority(ids []string, accepted map[string]bool) bool {
	n := 0
	for _, id := range ids {
		if accepted[id] {
			n++
		}
	}
	return n >= majorityOf(len(ids))
}

// StateChange is the change of a member's state from one table to another.
type StateChange struct {
	Address  string
	From, To State // "": no member
}

// Changes returns the state changes from one table to another.
func Changes(before, now *Table) []StateChange {
	var all []StateChange
	for _, m := range before.Members {
		if to := now.stateOf(m.ID); to != m.State {
			all = append(all, StateChange{m.Address, m.State, to})
		}
	}
	for _, m := range now.Members {
		if before.find(m.ID) == nil {
			all = append(all, StateChange{m.Address, "", m.State})
		}
	}
	return all
}

// A version is the ballot under which a table was accepted: a number and a random id of the proposer.
// All versions have the same length, so the order of the texts is the order of the ballots.

// versionAfter returns a ballot above all others.
func versionAfter(others ...string) string {
	var top int
	for _, other := range others {
		top = max(top, versionNumber(other))
	}
	return fmt.Sprintf("%010d.%s", top+1, uuid.NewString())
}

// versionNumber returns the number of a version, for messages; 0 if it has none.
func versionNumber(version string) int {
	var n int
	_, _ = fmt.Sscanf(version, "%010d.", &n)
	return n
}
