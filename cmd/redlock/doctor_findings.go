package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
)

// The findings are functions of the reading, and of nothing else.

// examine returns all findings: those on each master, and then those on all masters together.
func examine(r reading) []finding {
	var all []finding
	for i := range r.masters {
		all = append(all, masterFindings(&r.masters[i])...)
	}
	return append(all, togetherFindings(r)...)
}

// masterFindings returns the findings on one master by itself.
func masterFindings(m *masterReading) []finding {
	checks := []finding{reachFinding(m)}
	if m.err == nil {
		checks = append(checks, rightsFindings(m)...)
		checks = append(checks, serverFindings(m)...)
		checks = append(checks, writesFinding(m), memoryFinding(m), persistenceFinding(m), latencyFinding(m), clockFinding(m))
	}
	checks = looked(checks)
	for i := range checks {
		checks[i].Master = m.name
	}
	return checks
}

// togetherFindings returns the findings from all masters together.
func togetherFindings(r reading) []finding {
	bound := boundsOf(r.members)
	all := append([]finding{numberFinding(r), versionsFinding(r)}, independenceFindings(r.masters)...)
	for i := range r.masters {
		f := comparedClockFinding(&r.masters[i], middle(r.masters), bound)
		f.Master = r.masters[i].name
		all = append(all, f)
	}
	all = append(all, hostClockFinding(r.masters, bound), openFinding(r.masters), plainFinding(r.masters))
	return looked(append(all, memberFindings(r)...))
}

// looked removes the empty findings, which checks without data return.
func looked(checks []finding) []finding {
	return slices.DeleteFunc(checks, func(f finding) bool { return f.Check == "" })
}

func fine(check, format string, args ...any) finding {
	return finding{Check: check, Level: levelOK, What: fmt.Sprintf(format, args...)}
}

func reachFinding(m *masterReading) finding {
	if m.err == nil {
		return fine("reach", "it answers")
	}
	text := oneLine(m.err)
	f := finding{Check: "reach", Level: levelWarning, What: text, Why: "its vote is missing", noVote: true,
		Do: cmp.Or(remedy(text), m.likely(text), "see that the server runs, and that address, firewall and TLS are right")}
	if refusesPassword(text) {
		f.Do = "give the right user and password, in the URL or by --password-file"
	}
	return f
}

// likely returns the remedy for an error that looks as if only one of the two sides used TLS, or "" for any other
// error.
func (m *masterReading) likely(text string) string {
	has := func(word string) bool { return strings.Contains(text, word) }
	switch {
	case m.tls && (has("deadline exceeded") || has("i/o timeout")):
		return "if the host answers, this is likely a port without TLS: give redis://, or the port for TLS. Else see that the server runs, and the firewall"
	case !m.tls && (has("reset by peer") || has("EOF") || has("broken pipe")):
		return "this is likely a port for TLS: give rediss://"
	}
	return ""
}

func refusesPassword(text string) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "WRONGPASS", "without any password"}, func(word string) bool { return strings.Contains(text, word) })
}

// rightsFindings returns the missing rights. Clients refuse a master if a right is missing that every lock needs. If
// only CONFIG GET, SUBSCRIBE or PUBLISH is missing, locks work less well (docs/PROTOCOL.md, Rights).
func rightsFindings(m *masterReading) []finding {
	const check = "rights"
	user := fmt.Sprintf("the user %q", m.rights.user)
	const config = "CONFIG GET"
	calls := func(name string) bool {
		return strings.HasPrefix(name, "SUBSCRIBE ") || strings.HasPrefix(name, "PUBLISH ")
	}
	if slices.ContainsFunc(m.rights.denied, func(name string) bool { return name != config && !calls(name) }) {
		give := slices.DeleteFunc(slices.Clone(m.rights.denied), func(name string) bool { return name == config })
		return []finding{{Check: check, Level: levelWarning, What: fmt.Sprintf("%s cannot use %s", user, strings.Join(give, ", ")),
			Why: "clients refuse the master, so its vote is missing", Do: giveRights, noVote: true}}
	}
	switch err := m.rights.err; {
	case err != nil && (m.unfit() != "" || m.writes != nil): // another finding reports the reason
		return nil
	case err != nil:
		return []finding{{Check: check, Level: levelNote, What: "they could not be tried: " + oneLine(err),
			Why: "a right that is lacking shows only when it is needed", Do: cmp.Or(remedy(err.Error()), "see its log; look again")}}
	}
	var findings []finding
	for _, name := range m.rights.denied {
		if calls(name) {
			findings = append(findings, finding{Check: check, Level: levelWarning, What: fmt.Sprintf("%s cannot use %s", user, name),
				Why: "locks work, but a waiter is not called when a lock is free, and has to ask again and again", Do: giveRights})
		} else {
			findings = append(findings, finding{Check: check, Level: levelNote, What: fmt.Sprintf("%s cannot use %s", user, name),
				Why: "clients cannot see whether the master is durable, and take it for one that forgets when it restarts", Do: "allow CONFIG GET if it is durable; else nothing"})
		}
	}
	if len(findings) == 0 {
		return []finding{fine(check, "%s may do what locks need", user)}
	}
	return findings
}

const giveRights = `give the user the rights that docs/PROTOCOL.md has under "Rights", on the keys and channels of --prefix; the server must have the commands, under their names`

// serverFindings returns the findings on the kind and state of the server.
func serverFindings(m *masterReading) []finding {
	if len(m.info) == 0 {
		return nil // INFO is denied: rightsFindings reports that
	}
	server := fine("server", "%s, a master", m.version())
	if what, do, _ := strings.Cut(m.unfit(), ": "); what != "" {
		server = finding{Check: "server", Level: levelWarning, What: what, Why: "clients refuse it: its vote does not count", Do: do, noVote: true}
	}
	findings := []finding{server}
	if n := m.number("connected_slaves"); n > 0 {
		findings = append(findings, finding{Check: "replicas", Level: levelNote, What: "it has " + counted(int(n), "replica"),
			Why: "a replica that takes its place may lack the last grants and counters: then two may hold a lock, or a token may repeat",
			Do:  "never fail over to a replica; if it happened, start the server empty"})
	}
	if m.info["aof_last_write_status"] == "err" || m.info["rdb_last_bgsave_status"] == "err" {
		findings = append(findings, finding{Check: "disk", Level: levelWarning, What: "its last write to the disk failed",
			Why: "Redis refuses writes then, as it is set by default: its vote is missing", Do: "see to its disk and its log"})
	}
	return findings
}

// unfit returns why clients refuse the server, or "".
func (m *masterReading) unfit() string { return membership.Judge(m.info, m.config, m.report).Unfit }

// tightShare is the share of maxmemory at which memoryFinding begins to warn.
const tightShare = 0.8

func memoryFinding(m *masterReading) finding {
	const check = "memory"
	policy, most, used := m.info["maxmemory_policy"], m.number("maxmemory"), m.number("used_memory")
	full := float64(used) / float64(max(most, 1))
	switch {
	case policy == "", policy != "noeviction" && most > 0: // clients refuse the server: serverFindings reports that
		return finding{}
	case policy != "noeviction":
		return finding{Check: check, Level: levelWarning, What: "maxmemory-policy is " + policy,
			Why: "with a maxmemory the server would evict locks and counters, so clients refuse it as soon as it has one", Do: "set maxmemory-policy noeviction"}
	case most > 0 && full >= tightShare:
		return finding{Check: check, Level: levelWarning, What: fmt.Sprintf("%.0f %% of maxmemory are used", 100*full),
			Why: "a full server refuses locks: its vote is missing", Do: "raise maxmemory, or take other data off this server"}
	}
	return fine(check, "it evicts nothing")
}

func persistenceFinding(m *masterReading) finding {
	const check = "persistence"
	judged := membership.Judge(m.info, m.config, m.report)
	switch {
	case !judged.Durable:
	case m.loads == loadsSome:
		return finding{Check: check, Level: levelFault, What: "its default user may not run all commands",
			Why: "Redis loads its append-only file as that user, and drops what scripts wrote: after a restart a lock may have two holders, and a token may repeat",
			Do:  "before the next restart: ACL SETUSER default off ~* &* +@all, and ACL SAVE or the same in its configuration. Nobody can log in as a user that is off"}
	case m.loads == loadsUnknown && m.rights.user != "default":
		return fine(check, "it forgets nothing when it restarts, if its default user may run all commands (ACL GETUSER default), which %q may not ask", m.rights.user)
	default:
		return fine(check, "it forgets nothing when it restarts")
	}
	var weak []string
	for name, need := range membership.DurabilitySettings {
		switch value, known := m.config[name]; {
		case !known:
			weak = append(weak, name+" is not known")
		case value != need:
			weak = append(weak, fmt.Sprintf("%s is %s", name, value))
		}
	}
	slices.Sort(weak)
	if judged.WasReplica {
		weak = append(weak, "it was a replica once")
	}
	return finding{Check: check, Level: levelNote, What: "it may forget what it granted when it restarts: " + strings.Join(weak, ", "),
		Why: "after a restart it is a new member, and votes again when the max ttl has passed; if a majority restarts at once, nobody locks until an operator runs redlock init",
		Do:  "restart one at a time, and wait until it votes; or set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no before the next restart"}
}

func latencyFinding(m *masterReading) finding {
	const check, limit = "latency", limits.DefaultRequestTimeout
	if len(m.pings) == 0 {
		return finding{}
	}
	pings := slices.Sorted(slices.Values(m.pings))
	half, worst := pings[len(pings)/2], pings[len(pings)-1]
	what := fmt.Sprintf("%d pings: median %v, worst %v", len(pings), short(half), short(worst))
	why := fmt.Sprintf("an answer that takes more than the request timeout (%v by default) is no vote, and each acquisition takes as long as the slowest of the quickest majority", limit)
	switch {
	case worst >= limit:
		return finding{Check: check, Level: levelWarning, What: what, Why: why, Do: "look for what keeps it busy (SLOWLOG, LATENCY DOCTOR), or move it nearer"}
	case half >= limit/10 || worst >= limit/2:
		return finding{Check: check, Level: levelNote, What: what, Why: why, Do: "see whether a majority of the masters is nearer"}
	}
	return fine(check, "%s", what)
}

func short(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// middle returns the median of the masters' clocks, as the difference from this host's clock.
func middle(masters []masterReading) time.Duration {
	var offsets []time.Duration
	for _, m := range masters {
		if len(m.clocks) > 0 {
			offsets = append(offsets, m.clocks[0].offset)
		}
	}
	if len(offsets) == 0 {
		return 0
	}
	slices.Sort(offsets)
	return offsets[len(offsets)/2]
}

// bounds are the limits of the findings on clocks.
type bounds struct {
	drift  float64 // the share by which the rates of clocks may differ
	maxTTL time.Duration
}

// boundsOf returns the bounds of the deployment, or the defaults of a new one.
func boundsOf(m *admin.Membership) bounds {
	if m == nil {
		return bounds{limits.DefaultDrift, limits.DefaultMaxTTL}
	}
	return bounds{m.Drift, m.MaxTTL}
}

// step returns the largest sudden correction of a clock for which leases allow.
func (l bounds) step() time.Duration {
	return time.Duration(l.drift * float64(l.maxTTL))
}

func clockFinding(m *masterReading) finding {
	if len(m.clocks) == 0 {
		return finding{}
	}
	return fine("clock", "%v from this host's, ± %v", short(m.clocks[0].offset), short(m.clocks[0].err))
}

// comparedClockFinding compares a master's clock with this host's clock and with the other masters' clocks.
func comparedClockFinding(m *masterReading, middle time.Duration, bound bounds) finding {
	const check = "clock"
	if len(m.clocks) == 0 {
		return finding{}
	}
	first, last := m.clocks[0], m.clocks[len(m.clocks)-1]
	if span := last.at - first.at; span > 0 {
		rate := float64(last.offset-first.offset) / float64(span)
		unsure := float64(first.err+last.err) / float64(span)
		if math.Abs(rate)-unsure > bound.drift {
			return finding{Check: check, Level: levelFault, What: fmt.Sprintf("its clock went %+.3g %% beside this host's within %v, or was set", 100*rate, short(span)),
				Why: fmt.Sprintf("leases allow for %.3g %%: locks may end on it before their holders know", 100*bound.drift), Do: "see to the time service on both hosts; look again"}
		}
	}
	away := first.offset - middle
	if away.Abs()-first.err > bound.step() {
		return finding{Check: check, Level: levelWarning, What: fmt.Sprintf("its clock is %v from the masters' median", short(away)),
			Why: fmt.Sprintf("no lock rests on the time of day, but a clock that is put right at once moves by more than the %v that leases allow for", short(bound.step())),
			Do:  "run a time service on it, which slews"}
	}
	return finding{}
}

func hostClockFinding(masters []masterReading, bound bounds) finding {
	away := -middle(masters)
	if away.Abs() <= bound.step() {
		return finding{}
	}
	return finding{Check: "clock", Level: levelNote, What: fmt.Sprintf("this host's clock is %v from the masters' median", short(away)),
		Why: "locks do not rest on it, since holders count time that passes; times in logs mislead", Do: "run a time service on this host"}
}

func numberFinding(r reading) finding {
	if r.members != nil {
		return numberOf(len(r.members.Members), "member")
	}
	return numberOf(len(r.masters), "master")
}

// numberOf judges the number of masters or members.
func numberOf(n int, what string) finding {
	const check = "number"
	switch text := counted(n, what); {
	case n < 3:
		return finding{Check: check, Level: levelWarning, What: text, Why: "not one may fail, and none gets back by itself what it lost", Do: "use 3 or 5, on machines that fail independently"}
	case n%2 == 0:
		return finding{Check: check, Level: levelNote, What: text, Why: fmt.Sprintf("%d survive no more failures than %d", n, n-1), Do: "use one more, or one less (redlock members changes it later)"}
	default:
		return fine(check, "%s: %d may fail", text, (n-1)/2)
	}
}

func versionsFinding(r reading) finding {
	by := map[string][]string{}
	for _, m := range r.masters {
		if len(m.info) > 0 {
			by[m.version()] = append(by[m.version()], m.name)
		}
	}
	switch len(by) {
	case 0: // none answers
		return finding{}
	case 1:
		return fine("versions", "the masters that answer have the same")
	}
	var texts []string
	for version, names := range by {
		texts = append(texts, version+" on "+strings.Join(names, ", "))
	}
	slices.Sort(texts)
	return finding{Check: "versions", Level: levelNote, What: strings.Join(texts, "; "),
		Why: "it is all right while you upgrade one after the other; a fault of one version is harder to find among several", Do: "bring all to the same version"}
}

func independenceFindings(masters []masterReading) []finding {
	const check = "independence"
	var findings []finding
	runs, hosts := map[string][]string{}, map[string][]string{}
	for _, m := range masters {
		if id := m.info["run_id"]; id != "" {
			runs[id] = append(runs[id], m.name)
		}
		hosts[m.host] = append(hosts[m.host], m.name)
	}
	for _, names := range sharing(runs) {
		findings = append(findings, finding{Check: check, Level: levelWarning, What: names + " are one server",
			Why: "it has one vote, and clients refuse the others", Do: "give every server once"})
	}
	for _, names := range sharing(hosts) {
		findings = append(findings, finding{Check: check, Level: levelWarning, What: names + " are on one host",
			Why: "they fail together, and the quorum counts on masters that do not", Do: "put each on a machine of its own, on other power and network if you can"})
	}
	if len(findings) == 0 {
		return []finding{fine(check, "each is a server of its own, on a host of its own")}
	}
	return findings
}

// sharing returns each group that has more than one name, as text.
func sharing(groups map[string][]string) []string {
	var texts []string
	for _, names := range groups {
		if len(names) > 1 {
			texts = append(texts, strings.Join(names, ", "))
		}
	}
	slices.Sort(texts)
	return texts
}

// openFinding lists the masters that ask for no password.
func openFinding(masters []masterReading) finding {
	f := finding{Check: "password", Level: levelWarning, What: "none is asked for by ", Why: "any program that can reach them can take every lock, and delete every counter",
		Do: "give them the users of deploy/users.acl (docs/DEPLOY.md)"}
	return f.of(masters, func(m *masterReading) bool { return m.err == nil && !m.password })
}

// plainFinding lists the masters that are reached without TLS.
func plainFinding(masters []masterReading) finding {
	f := finding{Check: "tls", Level: levelNote, What: "there is none on the way to ", Why: "a reader of the network reads passwords, and can use them",
		Do: "use rediss:// (docs/DEPLOY.md), if others can read that network"}
	return f.of(masters, func(m *masterReading) bool { return m.err == nil && !m.tls && !strings.HasPrefix(m.name, "/") })
}

// of returns f with the names of the masters for which is(master) is true. If all of them are on this host,
// the finding is only a note.
func (f finding) of(masters []masterReading, is func(*masterReading) bool) finding {
	var names []string
	far := false
	for i := range masters {
		if is(&masters[i]) {
			names, far = append(names, masters[i].name), far || masters[i].host != thisHost
		}
	}
	if names == nil {
		return finding{}
	}
	if !far {
		f.Level = levelNote
	}
	f.What += strings.Join(names, ", ")
	return f
}

func memberFindings(r reading) []finding {
	const check = "members"
	if r.members == nil {
		return []finding{unknownMembers(r.membersErr)}
	}
	m := r.members
	var findings []finding
	add := func(l level, what, why, do string) {
		findings = append(findings, finding{Check: check, Level: l, What: what, Why: why, Do: do})
	}
	voting := 0
	for _, member := range m.Members {
		served := slices.IndexFunc(r.masters, func(read masterReading) bool { return read.name == member.Master })
		refused := served >= 0 && slices.ContainsFunc(masterFindings(&r.masters[served]), func(f finding) bool { return f.noVote })
		if member.Err == nil && member.State == admin.MemberVoting && !refused {
			voting++
		}
	}
	// A deployment of only one or two members never has a spare: numberFinding reports that.
	noSpare := voting == m.Need && len(m.Members) > 2
	missing := "one failure less is survived"
	if voting <= m.Need {
		missing = "its vote is missing"
	}
	for _, member := range m.Members {
		what := "the member " + member.Address + " " + remarks(member)
		switch {
		case member.Err != nil:
			add(levelWarning, what, missing, cmp.Or(member.Mend, "bring the server back, give it in --masters, or give its place to another: redlock members replace"))
		case member.State == admin.MemberNew && member.Left > 0:
			add(levelNote, what, "it may have forgotten what it granted", "wait")
		case member.State == admin.MemberNew:
			add(levelWarning, what, missing, cmp.Or(member.Mend, "let a client run that reaches all masters, and look again"))
		case member.State == admin.MemberSuspended:
			add(levelNote, what, "an operator suspended it", "redlock members resume, when the work on it is done")
		}
	}
	for _, other := range m.Others {
		add(levelWarning, fmt.Sprintf("%s is given, and has no vote of its own: %s", other.Master, cmp.Or(other.State, textOf(other.Err))),
			"clients count on no vote of it", "take it out of the list, or make it a member: redlock members add")
	}
	if m.Unfinished {
		add(levelNote, "a change of the members was begun, and is not known to be made", "any client that runs finishes it", "wait, and look again")
	}
	names := ""
	for _, member := range m.Members {
		if len(member.Names) > 0 {
			names += fmt.Sprintf("; clients also reach %s as %s", member.Address, strings.Join(member.Names, ", "))
		}
	}
	summary := fine(check, "%d of %d vote, %d decide%s", voting, len(m.Members), m.Need, names)
	if voting < m.Need || noSpare {
		summary = finding{Check: check, Level: levelFault, What: fmt.Sprintf("%d of %s vote, and %d decide", voting, counted(len(m.Members), "member"), m.Need),
			Why: "nobody can lock", Do: "bring back those that do not vote, see above"}
	}
	if noSpare {
		summary.Level, summary.Why = levelWarning, "there is no spare: the next failure stops all locks"
	}
	return append(findings, summary)
}

// unknownMembers returns the finding that the members are not known, and why.
func unknownMembers(err error) finding {
	if errors.Is(err, redlock.ErrNeedsInit) {
		return finding{Check: "members", Level: levelFault, What: "the masters belong to no deployment, or a majority of its members lost its data",
			Why: "nobody can lock", Do: "see redlock help init: new masters need redlock init once; if only some of them are new, it has the steps"}
	}
	return finding{Check: "members", Level: levelFault, What: "they are not known: " + oneLine(err), Why: "nobody can lock", Do: "bring back a majority of the masters"}
}
