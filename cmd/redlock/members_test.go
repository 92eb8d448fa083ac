package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// decode reads what redlock members --json printed.
func decode(t *testing.T, text string) membershipJSON {
	t.Helper()
	got := decodeAs[listJSON](t, text)
	if got.Error != "" {
		t.Errorf("it says %q", got.Error)
	}
	return got.membershipJSON
}

// table waits until redlock members tells what is wanted.
func table(t *testing.T, masters, what string, wanted func(membershipJSON) bool) membershipJSON {
	t.Helper()
	var m membershipJSON
	var err error
	harness.Eventually(t, what, func() bool {
		m, err = deploymentOf(t, masters)
		return err == nil && wanted(m)
	})
	return m
}

// states are those of all members by their addresses.
func (m membershipJSON) states() map[string]string {
	states := map[string]string{}
	for _, member := range m.Members {
		states[member.Address] = member.State
	}
	return states
}

// The names in the object are for scripts: they stay, and are there when empty.
func TestMembersJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(jsonOf(admin.Membership{
		Deployment: "d", Version: 7, MaxTTL: 2 * time.Second, Drift: 0.01, Need: 2, Unfinished: true,
		Members: []admin.Member{
			{ID: "i", Address: "a:1", State: admin.MemberNew, Master: "b:1", Left: 1500 * time.Millisecond, Names: []string{"n:1"}, Mend: "do"},
			{Address: "a:2", State: admin.MemberVoting, Err: errors.New("redlock: two\nlines")},
		},
		Others: []admin.OtherMaster{{Master: "c:1", State: "new"}},
	}))
	harness.Must(t, err)
	const want = `{"deployment":"d","version":7,"maxTtlMillis":2000,"drift":0.01,"need":2,"unfinished":true,` +
		`"members":[{"address":"a:1","state":"new","master":"b:1","id":"i","leftMillis":1500,"error":"","names":["n:1"],"mend":"do"},` +
		`{"address":"a:2","state":"voting","master":"","id":"","leftMillis":0,"error":"two; lines","names":[],"mend":""}],` +
		`"others":[{"master":"c:1","state":"new","error":""}]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	empty, err := json.Marshal(jsonOf(admin.Membership{}))
	harness.Must(t, err)
	says(t, "an empty one", string(empty), `"members":[]`, `"others":[]`)
	help := (*membersConfig)(nil).Help()
	for _, name := range []string{"deployment", "version", "maxTtlMillis", "drift", "need", "unfinished", "members", "others", "address", "state", "master", "id", "leftMillis", "error"} {
		says(t, "the help", help, name)
	}
}

// mayGoOn has the filter of docs/OPERATIONS.md say whether the next master may be restarted.
func mayGoOn(t *testing.T, members, want string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	harness.Must(t, err)
	_, after, _ := strings.Cut(string(text), "redlock members --json | jq -se '")
	filter, _, found := strings.Cut(after, "'")
	if !found {
		t.Fatal("docs/OPERATIONS.md has no filter")
	}
	t.Run("jq", func(t *testing.T) {
		cmd := exec.Command("jq", "-se", filter)
		testskip.IfLacking(t, cmd.Err, exec.ErrNotFound)
		cmd.Stdin = strings.NewReader(members)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); got != want || (err == nil) != (want == "true") {
			t.Errorf("of %s jq says %s (%v), want %s", members, got, err, want)
		}
	})
}

func TestMembers(t *testing.T) {
	onBlankMasters(t, 4, func(t *testing.T, servers []server) {
		three, all := flagOf(servers[:3]...), flagOf(servers...)
		r := redlockEnds(t, "members", three)
		r.wants(t, exitUnavailable)
		says(t, "members of none", r.stderr, servers[0].addr, "it belongs to no deployment", "see `redlock help init`")
		if r.stdout != "" {
			t.Errorf("it prints %q", r.stdout)
		}
		r = redlockEnds(t, "members", "--json", three)
		r.wants(t, exitUnavailable)
		if got := decodeAs[listJSON](t, r.stdout); !strings.Contains(got.Error, "it belongs to no deployment") || got.Members != nil || got.Others == nil {
			t.Errorf("it tells %s", r.stdout)
		}
		mayGoOn(t, r.stdout, "false")
		initialise(t, three, "--max-ttl=90s")
		mayGoOn(t, redlockEnds(t, "members", "--json", three).stdout, "true")

		m := table(t, all, "all members answer", func(m membershipJSON) bool {
			return !slices.ContainsFunc(m.Members, func(m memberJSON) bool { return m.Error != "" }) && len(m.Others) == 1 && m.Others[0].State != ""
		})
		if m.Version != 1 || m.MaxTTLMillis != 90_000 || m.Need != 2 || m.Drift != 0.01 || m.Unfinished || len(m.Members) != 3 {
			t.Errorf("it tells %+v", m)
		}
		for i, member := range m.Members {
			want := memberJSON{Address: servers[i].addr, State: "voting", Master: servers[i].addr, ID: member.ID, Names: []string{}}
			if !reflect.DeepEqual(member, want) || member.ID == "" {
				t.Errorf("member %d is %+v, want %+v", i, member, want)
			}
		}
		if o := m.Others[0]; o.Master != servers[3].addr || !strings.Contains(o.State, "it belongs to no deployment") {
			t.Errorf("the fourth is %+v", o)
		}
		r = redlockEnds(t, "members", all)
		r.wants(t, exitOK)
		says(t, "members", r.stdout, "deployment "+m.Deployment+", version 1\n", "max ttl 1m30s", "2 of 3 members decide, 3 may vote",
			servers[3].addr+": it belongs to no deployment")

		// A shorter list tells of all members too.
		m = table(t, flagOf(servers[:2]...), "two are told", func(m membershipJSON) bool {
			return len(m.Members) == 3 && m.Members[0].Error == "" && m.Members[1].Error == ""
		})
		if last := m.Members[2]; last.Address != servers[2].addr || last.Master != "" || last.Error == "" {
			t.Errorf("the member that was not given is %+v", last)
		}
		servers[0].kill()
		m = table(t, three, "two are told", func(m membershipJSON) bool {
			return len(m.Members) == 3 && m.Members[1].Error == "" && m.Members[2].Error == ""
		})
		if first := m.Members[0]; first.State != "voting" || first.Master != "" || first.Error == "" {
			t.Errorf("the member that is down is %+v", first)
		}
	})
}

func TestSuspendAndResume(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		initialise(t, masters)
		change := func(status int, args ...string) result {
			t.Helper()
			r := redlockEnds(t, append([]string{"members", masters}, args...)...)
			r.wants(t, status)
			return r
		}
		r := change(exitUnavailable, "add", "--json", "redis://127.0.0.1:1")
		if got := decodeAs[changeJSON](t, r.stdout); got.Done || got.Change != "add" || got.Member != "127.0.0.1:1" || got.Address != got.Member || got.Error == "" || r.stderr == "" {
			t.Errorf("%+v, stderr %q", got, r.stderr)
		}
		r = change(exitOK, "suspend", "--json", servers[0].url())
		if got, want := decodeAs[changeJSON](t, r.stdout), (changeJSON{"suspend", servers[0].addr, servers[0].addr, true, false, ""}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		for range 2 { // it may be done again
			if r := change(exitOK, "suspend", servers[0].addr); r.stdout != servers[0].addr+" does not vote until it is resumed\n" {
				t.Errorf("it says %q", r.stdout)
			}
		}
		table(t, masters, "the first is suspended", func(m membershipJSON) bool {
			return maps.Equal(m.states(), map[string]string{servers[0].addr: "suspended", servers[1].addr: "voting", servers[2].addr: "voting"})
		})
		tokenOf(t, masters)
		says(t, "a second suspension", change(exitUsage, "suspend", servers[1].url()).stderr,
			"redlock: not done: the members were not changed: cannot suspend "+servers[1].addr)
		says(t, "one of no member", change(exitUsage, "suspend", "127.0.0.1:1").stderr, "127.0.0.1:1 is no member")
		if r := change(exitOK, "resume", servers[0].url()+"/3"); r.stdout != servers[0].addr+" votes\n" {
			t.Errorf("it says %q", r.stdout)
		}
		table(t, masters, "all vote", func(m membershipJSON) bool {
			return !slices.Contains(slices.Collect(maps.Values(m.states())), "suspended")
		})
	})
}

// That the table lets a member vote is no success if it is down, or lost its data: whoever works on
// the masters would go on with the next one.
func TestChangeOfAMemberThatDoesNotVote(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters, first := flagOf(servers...), servers[0]
		initialise(t, masters, "--max-ttl=2s")
		change := func(status int, args ...string) result {
			t.Helper()
			r := redlockEnds(t, append([]string{"members", masters}, args...)...)
			r.wants(t, status)
			return r
		}
		if got, want := decodeAs[changeJSON](t, change(exitOK, "resume", first.addr, "--json").stdout), (changeJSON{"resume", first.addr, first.addr, true, true, ""}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		first.kill()
		r := change(exitNoVote, "resume", first.addr)
		says(t, "of a dead member, resume", r.stderr, "redlock: "+first.addr+" is a member, but does not vote now: ", "refused", "redlock members replace")
		if r.stdout != "" {
			t.Errorf("it says %q", r.stdout)
		}
		harness.Must(t, first.restart()) // and is empty
		r = redlockEnds(t, "members", masters, "resume", first.addr, "--json")
		switch got := decodeAs[changeJSON](t, r.stdout); r.status {
		case exitNoVote:
			says(t, "of an empty member, resume", r.stderr, "redlock: "+first.addr+" is a member, but ")
		case exitUsage: // the command has begun to bring it back
			says(t, "of an empty member, resume", r.stderr, first.addr+" is new")
		default:
			t.Errorf("of an empty member, resume ends with %d: %+v", r.status, got)
		}
		harness.Eventually(t, "it votes again", func() bool {
			r := redlockEnds(t, "members", masters, "add", first.url(), "--json")
			got := decodeAs[changeJSON](t, r.stdout)
			if r.status == exitNoVote {
				says(t, "of an empty member, add", r.stderr, "redlock: "+first.addr+" is a member, but ")
			}
			if !got.Done || got.Votes != (r.status == exitOK) || (got.Error == "") != got.Votes {
				t.Fatalf("add ends with %d: %+v", r.status, got)
			}
			return got.Votes
		})

		r = redlockEnds(t, "members", flagOf(servers[1:]...), "resume", first.addr)
		r.wants(t, exitNoVote)
		says(t, "of a member that was not given, resume", r.stderr, "give its URL in --masters too")
	})
}

// Members join and leave, and the tokens go on.
func TestReplaceAddAndRemove(t *testing.T) {
	onBlankMasters(t, 5, func(t *testing.T, servers []server) {
		three, all := flagOf(servers[:3]...), flagOf(servers...)
		initialise(t, three, "--max-ttl=2s")
		token := func(masters string) fence.Token { return tokenOf(t, masters, "--ttl=1500ms", "--grace=0s") }
		before := token(all)

		servers[0].kill()
		r := redlockEnds(t, "members", "replace", three, servers[0].addr, servers[3].url())
		r.wants(t, exitOK)
		says(t, "replace", r.stdout, servers[3].addr+" has the place of "+servers[0].addr+", and votes; it is recorded under this address")
		says(t, "replace, meanwhile,", r.stderr, "redlock: warning: the member "+servers[0].addr+": ")
		r = redlockEnds(t, "members", flagOf(servers[1:4]...), "add", servers[4].url())
		r.wants(t, exitOK)
		says(t, "add", r.stdout, servers[4].addr+" is a member, and votes")
		now := flagOf(servers[1:]...)
		m := table(t, now, "four vote", func(m membershipJSON) bool {
			return maps.Equal(m.states(), map[string]string{servers[1].addr: "voting", servers[2].addr: "voting", servers[3].addr: "voting", servers[4].addr: "voting"})
		})
		if m.Need != 3 {
			t.Errorf("%d decide", m.Need)
		}
		for range 2 { // it may be done again
			r = redlockEnds(t, "members", "remove", now, servers[1].addr)
			r.wants(t, exitOK)
			says(t, "remove", r.stdout, servers[1].addr+" is no member\n")
		}
		if m = table(t, now, "three are left", func(m membershipJSON) bool { return len(m.Members) == 3 }); m.Need != 2 {
			t.Errorf("%d decide", m.Need)
		}
		if after := token(now); after <= before {
			t.Errorf("token %v comes after %v", after, before)
		}
	})
}

// A change that is interrupted is gone on with by the same command.
func TestInterruptedChange(t *testing.T) {
	t.Parallel()
	servers := blankServers(t, 4)
	masters := flagOf(servers[:3]...)
	initialise(t, masters, "--max-ttl=10s")
	args := []string{"members", "replace", masters, servers[0].addr, servers[3].url()}
	first := start(t, command(t, args...))
	first.line("redlock: it votes in ")
	first.signal(syscall.SIGINT)
	first.line("redlock: interrupted: what was done stays, and the same command goes on from there")
	if status := first.status(); status != exitSignal+int(syscall.SIGINT) {
		t.Errorf("status %d", status)
	}
	m := table(t, flagOf(servers...), "the fourth is new", func(m membershipJSON) bool { return m.states()[servers[3].addr] == "new" })
	redlockEnds(t, args...).wants(t, exitOK)
	after := table(t, flagOf(servers...), "the fourth votes", func(m membershipJSON) bool { return m.states()[servers[3].addr] == "voting" })
	if after.Members[0].ID != m.Members[0].ID {
		t.Errorf("the new member is another: %+v, was %+v", after.Members[0], m.Members[0])
	}
}
