package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

func TestMembersTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	printMembers(&out, admin.Membership{
		Deployment: "d", Version: 7, MaxTTL: time.Minute, Drift: 0.07, Need: 3, Unfinished: true,
		Members: []admin.Member{
			{Address: "10.0.0.1:6379", State: admin.MemberVoting, Master: "redis1:6379"},
			{Address: "10.0.0.2:6379", State: admin.MemberVoting, Err: errors.New("dial: refused")},
			{Address: "10.0.0.3:6379", State: admin.MemberNew, Master: "redis3:6379", Left: 41*time.Second + 20*time.Millisecond},
			{Address: "10.0.0.4:6379", State: admin.MemberNew, Err: errors.New("dial: refused")},
			{Address: "10.0.0.5:6379", State: admin.MemberSuspended, Master: "redis5:6379", Left: time.Second},
		},
		Others: []admin.OtherMaster{{Master: "10.0.0.6:6379", State: "it is new"}, {Master: "10.0.0.7:6379", Err: errors.New("redlock: refused")}, {Master: "10.0.0.8:6379"}},
	}, now)
	const want = `deployment d, version 7
max ttl 1m0s, clocks may differ by 7 %
3 of 5 members decide, 2 may vote, 1 of them do now

MEMBER         STATE      SERVED BY    REMARKS
10.0.0.1:6379  voting     redis1:6379  
10.0.0.2:6379  voting     -            does not vote now; dial: refused
10.0.0.3:6379  new        redis3:6379  does not vote for 41s, until 12:00:41
10.0.0.4:6379  new        -            does not vote before it has the counters of the others; dial: refused
10.0.0.5:6379  suspended  redis5:6379  does not vote until it is resumed; may be removed in 1s, at 12:00:01

These masters are no members:
10.0.0.6:6379: it is new
10.0.0.7:6379: refused
10.0.0.8:6379: it has not answered yet

A change was begun, and is not known to be made. Any client that runs finishes it.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
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

// A member is replaced while a lock is held, and renewed by what is left.
func TestReplaceUnderALock(t *testing.T) {
	t.Parallel()
	servers := blankServers(t, 4)
	three, all := flagOf(servers[:3]...), flagOf(servers...)
	initialise(t, three, "--max-ttl=5s")
	cmd := command(t, "run", all, "--name=held", "--ttl=4s", "--grace=0s", "--", "sh", "-c", "echo held; read x; exit 3")
	stdin, err := cmd.StdinPipe()
	harness.Must(t, err)
	holder := start(t, cmd)
	holder.line("held")
	redlockEnds(t, "members", "replace", three, servers[0].addr, servers[3].url()).wants(t, exitOK)
	r := redlockEnds(t, "run", flagOf(servers[1:]...), "--name=held", "--ttl=4s", "--grace=0s", "--wait=0", "--", "true")
	r.wants(t, exitHeld)
	says(t, "a rival", r.stderr, fmt.Sprintf("held by process %d on ", cmd.Process.Pid))
	harness.Must(t, stdin.Close())
	if status := holder.status(); status != 3 {
		t.Errorf("status %d: the lock was to be held all the time", status)
	}
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

// The server that joins must answer, and be of no other deployment.
func TestRefusedNewcomer(t *testing.T) {
	t.Parallel()
	servers := blankServers(t, 5)
	masters := flagOf(servers[:3]...)
	initialise(t, masters)
	initialise(t, flagOf(servers[3]))
	r := redlockEnds(t, "members", "add", masters, servers[3].url())
	r.wants(t, exitUsage)
	says(t, "add", r.stderr, "redlock: not done: the members were not changed: ", "belongs to another deployment")
	servers[4].kill()
	for _, args := range [][]string{{"add", servers[4].url()}, {"replace", servers[0].addr, servers[4].url()}} {
		r = redlockEnds(t, append([]string{"members", masters}, args...)...)
		r.wants(t, exitUnavailable)
		says(t, args[0], r.stderr, servers[4].addr+": ", "refused")
	}
	if m, err := deploymentOf(t, masters); err != nil || m.Version != 1 {
		t.Errorf("version %d, %v", m.Version, err)
	}
}

func TestMembersBadInput(t *testing.T) {
	t.Parallel()
	const masters = "--masters=redis://127.0.0.1:1"
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--masters is missing"},
		{[]string{"add", "redis://a"}, "--masters is missing"},
		{[]string{masters, "--prefix={a}"}, "--prefix"},
		{[]string{masters, "add"}, "URL is missing (redlock help members add tells all flags)"},
		{[]string{masters, "add", "127.0.0.1:2"}, "URL must be the URL of the server"},
		{[]string{masters, "add", "http://127.0.0.1:2"}, "URL is a URL that cannot be read"},
		{[]string{masters, "replace", "127.0.0.1:1"}, "NEW is missing"},
		{[]string{masters, "replace", "127.0.0.1:1", "127.0.0.1:2"}, "NEW must be the URL"},
		{[]string{masters, "replace", "", "redis://127.0.0.1:2"}, "OLD is empty"},
		{[]string{masters, "suspend"}, "ADDRESS is missing"},
		{[]string{masters, "replace"}, "OLD and NEW are missing"},
		{[]string{masters, "me:secret@127.0.0.1:1"}, "there is an argument that is no command of redlock members: give list, add, replace, suspend, resume or remove"},
		{[]string{masters, "list", "secret"}, "there is an argument too many: redlock help members list"},
		{[]string{masters, "add", "redis://a?secret=1"}, "the URL of the server that joins (not shown"},
		{[]string{masters, "suspend", "me:secret@127.0.0.1:1"}, "ADDRESS must be an address such as"},
		{[]string{masters, "remove", "a", "b"}, "there is an argument too many: redlock help members remove"},
		{[]string{masters, "--json", "add", "redis://a"}, "--json"},
	} {
		r := redlockEnds(t, append([]string{"members"}, c.args...)...)
		if r.status != exitUsage || !strings.Contains(r.stderr, c.says) || strings.Contains(r.stderr, "secret") {
			t.Errorf("%q: status %d, stderr %q; want %d and %q", c.args, r.status, r.stderr, exitUsage, c.says)
		}
	}
	for _, change := range [][]string{{"add", "redis://127.0.0.1:2"}, {"suspend", "127.0.0.1:1"}} {
		r := redlockEnds(t, append([]string{"members", masters}, change...)...)
		r.wants(t, exitUnavailable)
		says(t, change[0], r.stderr, "no quorum of masters")
	}
}

// Progress is told when it is another, and not too often.
func TestProgress(t *testing.T) {
	t.Parallel()
	var told []string
	now := time.Now()
	p := &progress{say: func(err error) { told = append(told, err.Error()) }, now: func() time.Time { return now }}
	for _, text := range []string{"8 left", "8 left", "6 left", "6 left", "4 left", "4 left", "2 left", "2 left"} { // one a second
		p.tell(text)
		now = now.Add(time.Second)
	}
	if want := []string{"8 left", "6 left", "2 left"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A deployment that is used by other names than it was founded by tells them, and what to do about
// a server that nobody knows by its name.
func TestMembersUnderOtherNames(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		byAddress := flagOf(servers...)
		byName := strings.ReplaceAll(byAddress, "127.0.0.1", "localhost")
		nameOf := func(i int) string { return strings.Replace(servers[i].addr, "127.0.0.1", "localhost", 1) }
		if byName == byAddress {
			t.Fatalf("%s has no address that can be called otherwise", byAddress)
		}
		initialise(t, byAddress, "--max-ttl=2s")
		table(t, byName, "the names are known", func(m membershipJSON) bool {
			return slices.Equal(m.Members[0].Names, []string{nameOf(0)}) && m.Members[0].Mend == ""
		})
		r := redlockEnds(t, "members", byName)
		says(t, "members", r.stdout, "Clients also reach "+servers[0].addr+" as "+nameOf(0)+".")
		r = redlockEnds(t, "doctor", byAddress)
		says(t, "doctor", r.stdout, "clients also reach "+servers[0].addr+" as "+nameOf(0))

		servers[1].kill()
		mend := "start its server, or redlock members replace " + servers[1].addr + " NEW"
		table(t, byName, "one is away", func(m membershipJSON) bool { return m.Members[1].Mend == mend })
		r = redlockEnds(t, "members", byName)
		says(t, "members", r.stdout, "If "+servers[1].addr+" does not come back by itself: "+mend)
		r = redlockEnds(t, "doctor", byName)
		says(t, "doctor", r.stdout, mend)
	})
}
