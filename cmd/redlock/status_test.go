package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// decodeAs reads what --json printed, which must have no other names.
func decodeAs[T any](t *testing.T, text string) T {
	t.Helper()
	var object T
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	harness.Must(t, in.Decode(&object))
	return object
}

// found is what a master, or the quorum, has of a lock in the tests of what is printed.
func foundLock(owner string, waiting int) admin.LockView {
	return admin.LockView{
		State: admin.LockHeld, Owner: owner, Holder: admin.Holder{Client: "c", Name: "payroll", Host: "db1", PID: 4711},
		Grant: 12, Token: 12, Depth: 2, Remaining: 24310 * time.Millisecond, Waiting: waiting,
	}
}

func TestStatusForPeople(t *testing.T) {
	t.Parallel()
	held := foundLock("c.1", 3)
	free := admin.LockView{State: admin.LockFree}
	same := admin.Inspection{Name: "nightly", Need: 2, Quorum: held, Masters: []admin.MasterView{
		{Master: "10.0.0.1:6379", LockView: held}, {Master: "10.0.0.2:6379", LockView: held}, {Master: "10.0.0.3:6379", LockView: held},
	}}
	other := same
	other.Masters = []admin.MasterView{same.Masters[0], same.Masters[1], {Master: "10.0.0.3:6379", LockView: free}}
	unknown := admin.Inspection{Name: "two\nlines", Quorum: admin.LockView{State: admin.LockUnknown}, Masters: []admin.MasterView{
		{Master: "10.0.0.1:6379", Err: errors.New("dial: refused"), LockView: admin.LockView{State: admin.LockUnknown}},
	}}
	read := admin.Inspection{Name: "read", Quorum: admin.LockView{State: admin.LockRead, Remaining: time.Second, Readers: []admin.ReaderView{
		{Owner: "c.2", Holder: held.Holder, Remaining: time.Second},
	}}}
	lingers := admin.Inspection{Name: "lingers", Quorum: held}
	lingers.Quorum.State, lingers.Quorum.Waiting, lingers.Quorum.Token = admin.LockLingers, 0, 0
	const block = `  holder   payroll, process 4711 on db1
  owner    c.1
  token    12
  depth    2
  free in  24.3s, unless it is renewed
  waiting  3 clients
`
	for _, c := range []struct {
		lock lockStatus
		want string
	}{
		{lockStatus{in: same}, "\"nightly\": held\n" + block},
		{lockStatus{in: other}, "\"nightly\": held\n" + block +
			`  MASTER         STATE  FREE IN  WAITING  OWNER  GRANT  REMARKS
  10.0.0.1:6379  held   24.3s    3        c.1    12     
  10.0.0.2:6379  held   24.3s    3        c.1    12     
  10.0.0.3:6379  free   -        0        -      -      
`},
		{lockStatus{unknown, errors.New("redlock: no quorum of masters")}, `"two\nlines": not known, because too few masters answer
  MASTER         STATE    FREE IN  WAITING  OWNER  GRANT  REMARKS
  10.0.0.1:6379  unknown  -        0        -      -      dial: refused
`},
		{lockStatus{admin.Inspection{Name: "a"}, errors.New("redlock: no quorum of masters")}, `"a": not known, because too few masters answer
  error  no quorum of masters
`},
		{lockStatus{in: read}, `"read": held by 1 reader
  reader   payroll, process 4711 on db1, owner c.2, 1s left
  free in  1s, unless it is renewed
`},
		{lockStatus{in: lingers}, `"lingers": lingers: its holder left it, and it stays taken
  holder   payroll, process 4711 on db1
  owner    c.1
  token    not known
  free in  24.3s
`},
		{lockStatus{in: admin.Inspection{Name: "free", Quorum: free}}, "\"free\": free\n"},
	} {
		var out bytes.Buffer
		printLock(&out, c.lock)
		if out.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
		}
	}
}

// The names in the object are for scripts: they stay, and are there when empty.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(jsonOfStatus(status{
		at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), membersErr: errors.New("redlock: two\nlines"),
		locks: []lockStatus{{in: admin.Inspection{Name: "a"}, err: errors.New("refused")}}, listed: true,
	}))
	harness.Must(t, err)
	const view = `"state":"unknown","owner":"","since":"","holder":{"client":"","name":"","host":"","pid":0},"token":"","depth":0,"remainingMillis":0,"waiting":0,"readers":[]`
	const want = `{"time":"2026-05-04T12:00:00Z","members":null,"error":"two; lines","locks":[{"name":"a","error":"refused","need":0,` + view +
		`,"masters":[]}],"names":{"master":"","names":[],"more":false,"error":""}}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	v := foundLock("c.1", 3)
	v.Readers = []admin.ReaderView{{Owner: "c.2", Remaining: time.Second}}
	text, err = json.Marshal(jsonOfLock(lockStatus{in: admin.Inspection{Name: "a", Need: 2, Quorum: v, Masters: []admin.MasterView{{Master: "m", LockView: v}}}}))
	harness.Must(t, err)
	says(t, "a lock", string(text), `"holder":{"client":"c","name":"payroll","host":"db1","pid":4711},"token":"12","depth":2,"remainingMillis":24310,"waiting":3`,
		`"readers":[{"owner":"c.2","since":"","holder":{"client":"","name":"","host":"","pid":0},"remainingMillis":1000}]`, `"masters":[{"master":"m","error":"","grant":"12","state":"held"`)
	timeless := jsonOfStatus(status{locks: []lockStatus{{in: admin.Inspection{Quorum: v, Masters: []admin.MasterView{{LockView: v}}}}}}).withoutTimes()
	if text, _ := json.Marshal(timeless); strings.Contains(string(text), "24310") || strings.Contains(string(text), "1000") {
		t.Errorf("times are left in %s", text)
	}
}

// holderOf starts redlock run, which holds the name until its stdin is closed.
func holderOf(t *testing.T, name string, flags ...string) (run *running, token string, end func()) {
	t.Helper()
	cmd := command(t, append(append([]string{"run", "--name=" + name}, flags...), "--", "sh", "-c", "echo token $REDLOCK_TOKEN; read x")...)
	stdin, err := cmd.StdinPipe()
	harness.Must(t, err)
	run = start(t, cmd)
	return run, run.line("token"), func() { harness.Must(t, stdin.Close()) }
}

// lockOf waits until redlock status --json tells of name what is wanted.
func lockOf(t *testing.T, masters, name, what string, wanted func(lockJSON) bool) lockJSON {
	t.Helper()
	var lock lockJSON
	harness.Eventually(t, what, func() bool {
		r := redlockEnds(t, "status", masters, "--json", "--name", name)
		r.wants(t, exitOK)
		lock = decodeAs[statusJSON](t, r.stdout).Locks[0]
		return wanted(lock)
	})
	return lock
}

// recent reports whether the time is within the last minute.
func recent(text string) bool {
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && time.Since(at) < time.Minute && time.Since(at) > -time.Minute
}

func TestStatusTellsTheHolder(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		r := redlockEnds(t, "status", masters, "--name=nightly", "--json")
		r.wants(t, exitUnavailable)
		if s := decodeAs[statusJSON](t, r.stdout); s.Members != nil || s.Error == "" || s.Locks[0].Error == "" || s.Locks[0].State != "unknown" {
			t.Errorf("of masters that belong to no deployment: %s", r.stdout)
		}
		initialise(t, masters)
		holder, token, end := holderOf(t, "nightly", masters)
		host, _ := os.Hostname()
		lock := lockOf(t, masters, "nightly", "all masters know the holder", func(l lockJSON) bool {
			for _, m := range l.Masters {
				if m.State != "held" || m.Holder.Host == "" || m.Error != "" {
					return false
				}
			}
			return l.Holder.PID == holder.cmd.Process.Pid
		})
		if lock.State != "held" || lock.Holder.Host != host || lock.Token != token || !recent(lock.Since) || lock.Depth != 1 || lock.Need != 2 || lock.Error != "" ||
			lock.RemainingMillis <= 0 || lock.RemainingMillis > 40_000 || lock.Waiting != 0 || len(lock.Readers) != 0 {
			t.Errorf("%+v", lock)
		}

		r = redlockEnds(t, "status", masters, "--name=nightly", "--name=other")
		r.wants(t, exitOK)
		says(t, "status", r.stdout, "\"nightly\": held\n", "on "+host, token, "\n\n\"other\": free\n\ndeployment ", "2 of 3 members decide, 3 may vote")
		if strings.Contains(r.stdout, "taken, as") {
			t.Errorf("with --name it lists the names: %s", r.stdout)
		}
		r = redlockEnds(t, "status", masters)
		r.wants(t, exitOK)
		says(t, "without names", r.stdout, "\n1 name taken, as "+servers[0].addr+" sees it, at most 1000\n  \"nightly\"\nredlock status --name NAME tells who holds one.\n")
		r = redlockEnds(t, "status", masters, "--json")
		if s := decodeAs[statusJSON](t, r.stdout); s.Names == nil || s.Names.Master != servers[0].addr || len(s.Names.Names) != 1 || s.Names.More || len(s.Locks) != 0 || s.Members.Need != 2 {
			t.Errorf("%s", r.stdout)
		}

		servers[2].kill()
		r = redlockEnds(t, "status", masters, "--name=nightly")
		r.wants(t, exitOK)
		says(t, "with one down", r.stdout, "\"nightly\": held\n", "  MASTER ", servers[2].addr+"  unknown")
		servers[1].kill()
		r = redlockEnds(t, "status", masters, "--name=nightly")
		r.wants(t, exitUnavailable)
		says(t, "with two down", r.stdout, "The members are not known: ", "\"nightly\": not known, because too few masters answer\n", servers[0].addr+"  held ")
		end()
		_ = holder.status()
	})
}

// Without a terminal there is a block, or an object, at each change.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	masters := flagOf(blankServers(t, 3)...)
	initialise(t, masters)
	_, first, end := holderOf(t, "nightly", masters)
	blocks := start(t, command(t, "status", masters, "--name=nightly", "--watch"))
	objects := start(t, command(t, "status", masters, "--name=nightly", "--watch", "--json"))
	state := func(want, token string) {
		t.Helper()
		for {
			l := decodeAs[statusJSON](t, "{"+objects.line("{")).Locks[0]
			if l.State == want && l.Token == token {
				return
			}
		}
	}
	blocks.line(`"nightly": held`)
	if got := blocks.line("token"); got != first {
		t.Errorf("token %s, want %s", got, first)
	}
	state("held", first)
	end()
	blocks.line(`"nightly": free`)
	state("free", "")
	for _, w := range []*running{blocks, objects} {
		w.signal(syscall.SIGINT)
		if status := w.status(); status != exitOK {
			t.Errorf("status %d", status)
		}
	}
}

func TestVerify(t *testing.T) {
	onBlankMasters(t, 3, func(t *testing.T, servers []server) {
		masters := flagOf(servers...)
		initialise(t, masters)
		holder, token, end := holderOf(t, "nightly", masters)
		verify := func(status int, stdout string, flags ...string) result {
			t.Helper()
			r := redlockEnds(t, append([]string{"verify", masters, "--name=nightly"}, flags...)...)
			r.wants(t, status)
			if r.stdout != stdout {
				t.Errorf("%q: it prints %q, want %q", flags, r.stdout, stdout)
			}
			return r
		}
		verify(exitOK, "\"nightly\", token "+token+": valid: the hold with this token stands\n", "--token", token)
		verify(1, "\"nightly\", token 7: stale: no hold with this token stands\n", "--token=7")
		r := redlockEnds(t, "verify", masters, "--name=nightly", "--token", token, "--json")
		r.wants(t, exitOK)
		if got, want := decodeAs[verifyJSON](t, r.stdout), (verifyJSON{"nightly", token, "valid", ""}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		end()
		if status := holder.status(); status != 1 { // of read, at the end of its input
			t.Errorf("status %d", status)
		}
		verify(1, "\"nightly\", token "+token+": stale: no hold with this token stands\n", "--token", token)
		servers[0].kill()
		servers[1].kill()
		r = verify(exitUnavailable, "", "--token", token)
		says(t, "verify", r.stderr, `redlock: it is not known whether the hold of "nightly" with token `+token+` stands: no quorum of masters`)
		r = redlockEnds(t, "verify", masters, "--name=nightly", "--token", token, "--json")
		r.wants(t, exitUnavailable)
		if got := decodeAs[verifyJSON](t, r.stdout); got.Verdict != "unknown" || got.Error == "" {
			t.Errorf("%+v", got)
		}
	})
}

// A user who may do all that locks need, and not list names, is told just that.
func TestStatusWithoutSCAN(t *testing.T) {
	t.Parallel()
	s := masterWith(t, redisproc.Config{})
	initialise(t, "--masters=redis://"+s.Addr())
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	harness.Must(t, c.Do(t.Context(), "ACL", "SETUSER", "locker", "on", ">p", "~*", "&*", "+@all", "-scan").Err())
	r := redlockEnds(t, "status", "--masters=redis://locker:p@"+s.Addr())
	r.wants(t, exitOK)
	says(t, "without SCAN", r.stdout, "not listed: the user lacks the right to SCAN")
}
