package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testservers"
)

// healthy returns a reading without findings.
func healthy() reading {
	r := reading{members: &admin.Membership{Deployment: "d", MaxTTL: time.Minute, Drift: 0.01, Need: 2}}
	for i := range 3 {
		name := fmt.Sprintf("10.0.0.%d:6379", i+1)
		r.masters = append(r.masters, masterReading{
			name: name, host: fmt.Sprint("10.0.0.", i+1), password: true, tls: true,
			info: membership.ServerInfo{"redis_version": "7.0.15", "redis_mode": "standalone", "role": "master", "run_id": name,
				"maxmemory_policy": "noeviction", "maxmemory": "0", "used_memory": "1000", "connected_slaves": "0"},
			config: map[string]string{"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no"},
			clocks: []clockSample{{0, time.Millisecond, time.Millisecond}, {time.Second, time.Millisecond, time.Millisecond}},
			pings:  slices.Repeat([]time.Duration{time.Millisecond}, pingCount),
			report: map[string]string{},
			rights: rights{user: "default"},
			loads:  loadsAll,
		})
		r.members.Members = append(r.members.Members, admin.Member{Address: name, State: admin.MemberVoting, Master: name})
	}
	return r
}

// serverError is an error reply of a server.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// Each fault added to a healthy deployment makes exactly one finding above OK.
func TestDoctorFindings(t *testing.T) {
	t.Parallel()
	if all := examine(healthy()); worst(all) != levelOK {
		t.Errorf("healthy: %+v", all)
	}
	info := func(name, value string) func(*reading) {
		return func(r *reading) { r.masters[1].info[name] = value }
	}
	report := func(name, value string) func(*reading) {
		return func(r *reading) { r.masters[1].report[name] = value }
	}
	refuses := func(text string) func(*reading) {
		return func(r *reading) { r.masters[1].writes = serverError(text) }
	}
	clock := func(master int, samples ...clockSample) func(*reading) {
		return func(r *reading) { r.masters[master].clocks = samples }
	}
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		what  string
		spoil func(*reading)
		level level
		check string
		text  string
	}{
		{"down", func(r *reading) { r.masters[1].err = errors.New("dial tcp: refused") }, levelWarning, "reach", "refused"},
		{"wrong password", func(r *reading) { r.masters[1].err = errors.New("WRONGPASS invalid") }, levelWarning, "reach", "--password-file"},
		{"loading", func(r *reading) { r.masters[1].err = errors.New("LOADING Redis is loading") }, levelWarning, "reach", "wait"},
		{"a right is lacking", func(r *reading) { r.masters[1].rights.denied = []string{"INCR", "CONFIG GET"} }, levelWarning, "rights", `"default" cannot use INCR`},
		{"no SUBSCRIBE", func(r *reading) { r.masters[1].rights.denied = []string{"SUBSCRIBE redlock:waits:doctor"} }, levelWarning, "rights", "locks work, but a waiter"},
		{"no SUBSCRIBE, and no PING", func(r *reading) { r.masters[1].rights.denied = []string{"PING", "SUBSCRIBE redlock:waits:doctor"} }, levelWarning, "rights", "cannot use PING, SUBSCRIBE"},
		{"no CONFIG GET", func(r *reading) { r.masters[1].rights.denied = []string{"CONFIG GET"} }, levelNote, "rights", "take it for one that forgets"},
		{"rights not known", func(r *reading) { r.masters[1].rights.err = errors.New("ERR no") }, levelNote, "rights", "could not be tried"},
		{"an old server", func(r *reading) {
			for i := range r.masters {
				r.masters[i].info["redis_version"] = "5.0.7"
			}
		}, levelWarning, "server", "version 6 or newer"},
		{"a replica", report(".unfit", `its role is "slave": give the primary's address`), levelWarning, "server", "primary's address"},
		{"a Sentinel", info("redis_mode", "sentinel"), levelWarning, "server", "Sentinel"},
		{"a cluster node", info("cluster_enabled", "1"), levelWarning, "server", "independent servers"},
		{"it evicted keys", report(".forgot", "it evicted keys, and lacks data: it comes back as a new member"), levelWarning, "server", "comes back"},
		{"an AOF that was switched off", report(".weak", "its settings are not durable any more: set them back"), levelWarning, "server", "set them back"},
		{"it has replicas", info("connected_slaves", "2"), levelNote, "replicas", "2 replicas"},
		{"a full disk", info("aof_last_write_status", "err"), levelWarning, "disk", "failed"},
		{"a failed save", info("rdb_last_bgsave_status", "err"), levelWarning, "disk", "failed"},
		{"no replicas", refuses("NOREPLICAS Not enough good replicas to write."), levelWarning, "writes", "min-replicas-to-write 0"},
		{"it cannot save", refuses("MISCONF Redis is configured to save RDB snapshots"), levelWarning, "writes", "make room"},
		{"out of memory", refuses("OOM command not allowed"), levelWarning, "writes", "raise maxmemory"},
		{"a write that is not answered", func(r *reading) { r.masters[1].writes = errors.New("i/o timeout") }, levelWarning, "writes", "one failed: i/o timeout"},
		{"busy", func(r *reading) { r.masters[1].err = errors.New("BUSY Redis is busy running a script") }, levelWarning, "reach", "SCRIPT KILL"},
		{"too many clients", func(r *reading) { r.masters[1].err = errors.New("ERR max number of clients reached") }, levelWarning, "reach", "raise maxclients"},
		{"eviction", info("maxmemory_policy", "allkeys-lru"), levelWarning, "memory", "allkeys-lru"},
		{"eviction, and refused for it", func(r *reading) {
			info("maxmemory", "1000000")(r)
			info("maxmemory_policy", "allkeys-lru")(r)
			report(".unfit", "it may evict keys (maxmemory-policy allkeys-lru): set maxmemory-policy noeviction")(r)
		}, levelWarning, "server", "set maxmemory-policy noeviction"},
		{"little memory", func(r *reading) { info("maxmemory", "1000")(r); info("used_memory", "850")(r) }, levelWarning, "memory", "85 %"},
		{"not durable", func(r *reading) { r.masters[1].config["appendfsync"] = "everysec" }, levelNote, "persistence", "appendfsync is everysec"},
		{"default user shut", func(r *reading) { r.masters[1].loads = loadsSome }, levelFault, "persistence", "default user may not run all"},
		{"default user shut, and no AOF", func(r *reading) {
			r.masters[1].loads, r.masters[1].config["appendonly"] = loadsSome, "no"
		}, levelNote, "persistence", "appendonly is no"},
		{"was a replica", report(".replica", "a1"), levelNote, "persistence", "a replica once"},
		{"slow at times", func(r *reading) { r.masters[1].pings[0] = 600 * ms }, levelWarning, "latency", "worst 600ms"},
		{"far", func(r *reading) { r.masters[1].pings = slices.Repeat([]time.Duration{60 * ms}, pingCount) }, levelNote, "latency", "median 60ms"},
		{"a fast clock", clock(1, clockSample{0, 0, ms}, clockSample{s, 15 * ms, ms}), levelFault, "clock", "+1.5 %"},
		{"a slow clock", clock(1, clockSample{0, 0, ms}, clockSample{s, -15 * ms, ms}), levelFault, "clock", "-1.5 %"},
		{"a clock that is off", clock(1, clockSample{0, 701 * ms, ms}, clockSample{s, 701 * ms, ms}), levelWarning, "clock", "700ms"},
		{"this host's clock is off", func(r *reading) {
			for i := range r.masters {
				clock(i, clockSample{0, 700 * ms, ms}, clockSample{s, 700 * ms, ms})(r)
			}
		}, levelNote, "clock", "this host's clock is -700ms"},
		{"another version", info("redis_version", "7.2.0"), levelNote, "versions", "Redis 7.2.0 on 10.0.0.2:6379"},
		{"twice the same server", info("run_id", "10.0.0.1:6379"), levelWarning, "independence", "10.0.0.1:6379, 10.0.0.2:6379 are one server"},
		{"twice the same host", func(r *reading) { r.masters[1].host = "10.0.0.1" }, levelWarning, "independence", "10.0.0.1:6379, 10.0.0.2:6379 are on one host"},
		{"no password", func(r *reading) { r.masters[1].password = false }, levelWarning, "password", "asked for by 10.0.0.2:6379"},
		{"no TLS", func(r *reading) { r.masters[1].tls = false }, levelNote, "tls", "way to 10.0.0.2:6379"},
		{"TLS to a plain port", func(r *reading) { r.masters[1].err = context.DeadlineExceeded }, levelWarning, "reach", "likely a port without TLS"},
		{"plain to a port for TLS", func(r *reading) { r.masters[1].err, r.masters[1].tls = syscall.ECONNRESET, false }, levelWarning, "reach", "likely a port for TLS"},
		{"rights of a cluster node", func(r *reading) {
			r.masters[1].rights.err = errors.New("CLUSTERDOWN Hash slot not served")
			info("cluster_enabled", "1")(r)
		}, levelWarning, "server", "independent servers"},
		{"an even number", func(r *reading) {
			m := r.members
			m.Members = append(m.Members, admin.Member{State: admin.MemberVoting})
			m.Need = 3
		}, levelNote, "number", "4 survive no more failures than 3"},
		{"too few", func(r *reading) { r.members.Members, r.members.Need = r.members.Members[:1], 1 }, levelWarning, "number", "1 member"},
		{"a member is gone", func(r *reading) { r.members.Members[1].Err = errors.New("refused") }, levelWarning, "members", "10.0.0.2:6379 does not vote now; refused"},
		{"a new member", func(r *reading) { r.members.Members[1].State, r.members.Members[1].Left = admin.MemberNew, s }, levelNote, "members", "for 1s"},
		{"a new member that waits", func(r *reading) { r.members.Members[1].State = admin.MemberNew }, levelWarning, "members", "counters"},
		{"a suspended member", func(r *reading) { r.members.Members[1].State = admin.MemberSuspended }, levelNote, "members", "suspended"},
		{"no member", func(r *reading) { r.members.Others = []admin.OtherMaster{{Master: "a:1", State: "it is new"}} }, levelWarning, "members", "a:1 is given, and has no vote of its own: it is new"},
		{"unfinished", func(r *reading) { r.members.Unfinished = true }, levelNote, "members", "begun"},
		{"no deployment", func(r *reading) { r.members, r.membersErr = nil, redlock.ErrNeedsInit }, levelFault, "members", "redlock init"},
		{"no quorum", func(r *reading) { r.members, r.membersErr = nil, redlock.ErrNoQuorum }, levelFault, "members", "majority"},
	} {
		r := healthy()
		c.spoil(&r)
		bad := slices.DeleteFunc(examine(r), func(f finding) bool { return f.Level == levelOK })
		if c.what == "an old server" {
			bad = bad[:1] // all three masters are old
		}
		if r.members != nil && len(r.members.Members) == 3 && len(bad) == 2 && bad[1].Why == "there is no spare: the next failure stops all locks" {
			bad = bad[:1] // the lack of a spare member is checked below
		}
		if len(bad) != 1 || bad[0].Level != c.level || bad[0].Check != c.check ||
			!strings.Contains(bad[0].What+" "+bad[0].Why+" "+bad[0].Do, c.text) || bad[0].What == "" || bad[0].Why == "" || bad[0].Do == "" {
			t.Errorf("%s: got %+v, want a %v of %s with %q", c.what, bad, c.level, c.check, c.text)
		}
	}

	// Deviations within the measurement error or the drift are OK.
	for what, samples := range map[string][]clockSample{
		"a slow network":   {{0, 0, 10 * ms}, {s, 20 * ms, 10 * ms}},
		"a drift of 0.9 %": {{0, 0, 0}, {s, 9 * ms, 0}},
		"599 ms away":      {{0, 599 * ms, 0}, {s, 599 * ms, 0}},
	} {
		r := healthy()
		clock(1, samples...)(&r)
		if all := examine(r); worst(all) != levelOK {
			t.Errorf("%s: %+v", what, all)
		}
	}

	// The lack of a spare member is reported, whatever its cause.
	for what, spoil := range map[string]func(*admin.Member){
		"down":      func(m *admin.Member) { m.Err = errors.New("refused") },
		"new":       func(m *admin.Member) { m.State, m.Left = admin.MemberNew, s },
		"suspended": func(m *admin.Member) { m.State = admin.MemberSuspended },
	} {
		r := healthy()
		spoil(&r.members.Members[0])
		all := examine(r)
		if last := all[len(all)-1]; last.Level != levelWarning || last.What != "2 of 3 members vote, and 2 decide" || !strings.HasPrefix(last.Why, "there is no spare") {
			t.Errorf("%s: %+v", what, last)
		}
		if slices.ContainsFunc(all, func(f finding) bool { return strings.Contains(f.Why, "is survived") }) {
			t.Errorf("%s, and yet a failure is survived: %+v", what, all)
		}
		r.members.Need, r.members.Members = 3, append(r.members.Members, healthy().members.Members[:2]...)
		if all := examine(r); all[len(all)-1].Level != levelOK || what == "down" && !slices.ContainsFunc(all, func(f finding) bool { return f.Why == "one failure less is survived" }) {
			t.Errorf("%s of five: %+v", what, all)
		}
	}

	r := healthy()
	for i := range r.masters {
		r.masters[i] = masterReading{name: r.masters[i].name, err: errors.New("refused")}
	}
	r.members, r.membersErr = nil, redlock.ErrNoQuorum
	if slices.ContainsFunc(examine(r), func(f finding) bool { return f.Check == "versions" }) {
		t.Error("nobody answers, and the versions are judged")
	}

	r = healthy()
	r.masters[0].err, r.masters[1].writes = errors.New("refused"), serverError("OOM")
	if all := examine(r); worst(all) != levelFault || !strings.Contains(all[len(all)-1].What, "1 of 3 members vote, and 2 decide") {
		t.Errorf("no quorum votes: %+v", all)
	}
}

// diagnosis is what redlock doctor --json prints.
type diagnosis struct {
	Level    string
	Findings []struct{ Master, Check, Level, What, Why, Do string }
}

// diagnose runs redlock doctor, and requires the status of the worst level.
func diagnose(t *testing.T, flags ...string) diagnosis {
	t.Helper()
	r := redlockEnds(t, append([]string{"doctor", "--json"}, flags...)...)
	var d diagnosis
	in := json.NewDecoder(strings.NewReader(r.stdout))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		t.Fatalf("%v in %+v", err, r)
	}
	r.wants(t, map[string]int{"ok": 0, "note": 0, "warning": 1, "fault": 2}[d.Level])
	return d
}

// has fails the test unless d has a finding with this master, check, level and text. With level ""
// any level will do, because a busy machine is slow.
func (d diagnosis) has(t *testing.T, master, check, level, text string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Master == master && f.Check == check && (f.Level == level || level == "") && strings.Contains(f.What+" "+f.Do, text) {
			return
		}
	}
	t.Errorf("%s has no %s of %s with %q: %+v", master, level, check, text, d.Findings)
}

// A missing right is found, even if the user may not ask the server for the user's rights.
func TestDoctorTriesRights(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		s := masterWith(t, redisproc.Config{Program: program})
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		defer c.Close()
		initialise(t, "--masters=redis://"+s.Addr())
		noChannels := strings.Contains(program, "redis-6.0")
		for user, rules := range map[string]string{
			"all":      "+@all ~redlock:* &redlock:waits:*",
			"noPub":    "+@all -publish -zadd ~redlock:* &redlock:waits:*",
			"onlyPub":  "+@all -publish ~redlock:* &redlock:waits:*",
			"noChan":   "+@all ~redlock:* resetchannels",
			"noKeys":   "+@all ~other:* &*",
			"few":      "+@all -@admin -@dangerous +info ~redlock:* &redlock:waits:*", // may not ask the server
			"fewNoPub": "+@all -@admin -@dangerous +info -publish -zadd ~redlock:* &redlock:waits:*",
			"fewNoSub": "+@all -@admin -@dangerous +info -subscribe -eval ~redlock:* &redlock:waits:*",
			"noSub":    "+@all -subscribe ~redlock:* &redlock:waits:*",
			"noPing":   "+@all -ping ~redlock:* &redlock:waits:*",
			"fewNoSet": "+@all -@admin -@dangerous +info -set -del -pexpire -pexpireat ~redlock:* &redlock:waits:*", // could not delete a key again
		} {
			words := []any{"ACL", "SETUSER", user, "on", ">p"}
			for rule := range strings.FieldsSeq(rules) {
				if !noChannels || rule[0] != '&' && rule != "resetchannels" {
					words = append(words, rule)
				}
			}
			harness.Must(t, c.Do(t.Context(), words...).Err())
		}
		for user, want := range map[string][]string{
			"all":      {"ok", ""},
			"noPub":    {"warning", `"noPub" cannot use PUBLISH redlock:waits:doctor, ZADD`},
			"onlyPub":  {"warning", `"onlyPub" cannot use PUBLISH redlock:waits:doctor`},
			"noChan":   {"warning", "SUBSCRIBE redlock:waits:doctor"},
			"noKeys":   {"warning", "HGETALL, the keys redlock:*"},
			"few":      {"note", "CONFIG GET"},
			"fewNoPub": {"warning", `cannot use PUBLISH redlock:waits:doctor, ZADD`},
			"fewNoSub": {"warning", "EVAL, SUBSCRIBE redlock:waits:doctor"},
			"fewNoSet": {"warning", "cannot use DEL, PEXPIRE, PEXPIREAT, SET"},
			"noSub":    {"warning", `"noSub" cannot use SUBSCRIBE redlock:waits:doctor`},
			"noPing":   {"warning", `"noPing" cannot use PING`},
		} {
			if noChannels && user == "noChan" {
				continue
			}
			masters := "--masters=redis://" + user + ":p@" + s.Addr()
			d := diagnose(t, masters)
			// If no lock works, the worst level is fault. Otherwise it is not.
			r := redlockEnds(t, "run", masters, "--name=a", "--wait=10s", "true")
			if locks := r.status == exitOK; locks == (d.Level == "fault") {
				t.Errorf("%s: with a %s, run ends with %d: %s", user, d.Level, r.status, r.stderr)
			}
			d.has(t, s.Addr(), "rights", want[0], want[1])
		}
		harness.Eventually(t, "it leaves nothing", func() bool { return len(c.Keys(t.Context(), "*doctor*").Val()) == 0 })
	})
}
