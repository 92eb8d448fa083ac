package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
	"github.com/redlock-go/redlock/internal/testskip"
)

// allow gives a user of all masters these rights, and no others.
func (d *deployment) allow(user string, rule []string) {
	d.t.Helper()
	for _, r := range d.raw {
		must(d.t, testrights.Allow(background, r, user, rule))
	}
}

// as returns a client that logs in as a user, on the first n masters.
func (d *deployment) as(user string, n int, opts ...Option) *Client {
	d.t.Helper()
	c, err := Open(d.urls(user+":pw@", "")[:n], append([]Option{WithRequestTimeout(2 * time.Second)}, opts...)...)
	must(d.t, err)
	d.t.Cleanup(func() { must(d.t, c.Close()) })
	return c
}

// refusals returns what the masters have refused since the last time, and has them forget it.
func (d *deployment) refusals() (all []string) {
	d.t.Helper()
	for _, r := range d.raw {
		log, err := r.Do(background, "acl", "log").Slice()
		must(d.t, err)
		for _, entry := range log {
			all = append(all, fmt.Sprint(entry))
		}
		must(d.t, r.Do(background, "acl", "log", "reset").Err())
	}
	return all
}

func requireDenied(t *testing.T, err error, right string) {
	t.Helper()
	if !errors.Is(err, ErrDenied) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(testrights.NameOf(right))) {
		t.Errorf("without %s: %v", right, err)
	}
}

// aclsInDocker returns the ACL files of the masters in Docker that have users, with the variables of the passwords.
func aclsInDocker(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("docker/compose.acl.yaml")
	must(t, err)
	var files []string
	for i, file := range regexp.MustCompile(`(?m)^  users(\d):\n    content: \|\n((?:      .*\n)+)`).FindAllSubmatch(text, -1) {
		if string(file[1]) != fmt.Sprint(i+1) {
			t.Errorf("users%s is file %d", file[1], i+1)
		}
		files = append(files, strings.ReplaceAll(string(file[2]), "      ", ""))
	}
	if len(files) != 3 {
		t.Fatalf("%d ACL files", len(files))
	}
	return files
}

// The masters in Docker that have users have the rule, and shut the user default in the way that SECURITY.md demands.
func TestRightsInDocker(t *testing.T) {
	t.Parallel()
	for i, file := range aclsInDocker(t) {
		if !strings.HasPrefix(file, "user default off ~* &* +@all\n") {
			t.Errorf("users%d does not begin with the line that shuts default:\n%s", i+1, file)
		}
		user := fmt.Sprintf("user redlock reset on >${PASSWORD%d} %s\n", i+1, strings.Join(testrights.Rule(t, "docs/PROTOCOL.md", "redlock"), " "))
		if !strings.HasSuffix(file, "\n"+user) {
			t.Errorf("users%d does not end with %s\n%s", i+1, user, file)
		}
	}
}

// Servers take those ACL files, with a password for each. Nobody gets in without it, and a restart of all masters loses
// neither a lock nor a token.
func TestMastersWithTheUsersOfDocker(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, mastersWithTheUsersOfDocker)
}

func mastersWithTheUsersOfDocker(t *testing.T, program string) {
	var urls, swapped, open []string
	var servers []*redisproc.Server
	files := aclsInDocker(t)
	for i, file := range files {
		file = regexp.MustCompile(`\$\{OPERATOR_PASSWORD[^}]*\}`).ReplaceAllString(file, "operators-own")
		file = strings.ReplaceAll(file, fmt.Sprintf("${PASSWORD%d}", i+1), fmt.Sprintf("secret-%d", i))
		if strings.Contains(program, "redis-6.0") {
			file = strings.ReplaceAll(strings.ReplaceAll(file, " resetchannels &redlock:waits:*", ""), " &* ", " ")
		}
		path := filepath.Join(t.TempDir(), "users.acl")
		must(t, os.WriteFile(path, []byte(file), 0o600))
		s, err := redisproc.Start(redisproc.Config{Program: program, AppendFsync: "always", Conf: map[string]string{"aclfile": fmt.Sprintf("%q", path)}})
		testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
		must(t, err)
		t.Cleanup(func() { must(t, s.Stop()) })
		servers = append(servers, s)
		urls = append(urls, fmt.Sprintf("redis://redlock:secret-%d@%s", i, s.Addr()))
		swapped = append(swapped, fmt.Sprintf("redis://redlock:secret-%d@%s", (i+1)%len(files), s.Addr()))
		open = append(open, s.URL())
	}
	client := func(urls []string) *Client {
		c, err := Open(urls, WithRequestTimeout(2*time.Second))
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })
		return c
	}
	a, b := client(urls), client(urls)
	must(t, a.found(background, 0))
	for why, urls := range map[string][]string{"WRONGPASS": swapped, "NOAUTH": open} {
		_, err := client(urls).Lock(background, "job")
		if requireErr(t, err, ErrNoQuorum); !strings.Contains(err.Error(), why) {
			t.Errorf("got in, or for another reason than %s: %v", why, err)
		}
	}

	held, err := a.Lock(background, "held", WithWait(patience))
	must(t, err)
	lock, err := a.Lock(background, "job", WithWait(patience))
	must(t, err)
	must(t, lock.Unlock(background))
	settled(t, a)
	for _, s := range servers {
		s.Kill()
		must(t, s.Restart())
	}
	next, err := b.Lock(background, "job", WithWait(patience))
	must(t, err)
	if next.Token() <= lock.Token() {
		t.Errorf("the token after the restart is %v, before it was %v", next.Token(), lock.Token())
	}
	_, err = b.TryLock(background, "held")
	requireErr(t, err, ErrHeld)
	eventually(t, "its holder renews it", func() bool { return held.Extend(background, limits.DefaultTTL) == nil })
	must(t, held.Unlock(background))
	must(t, next.Unlock(background))
}

// An operator's user may run what the documents and redlock doctor tell operators to run.
func TestRightsOfOperators(t *testing.T) {
	t.Parallel()
	const rule = "+acl +config +info +latency +ping +replicaof +shutdown +slowlog"
	for file, times := range map[string]int{"docs/OPERATIONS.md": 1, "docker/compose.acl.yaml": 3} {
		text, err := os.ReadFile(file)
		must(t, err)
		if n := len(regexp.MustCompile(`(?m)operator reset on \S+(?: .*\})? `+regexp.QuoteMeta(rule)+`$`).FindAll(text, -1)); n != times {
			t.Errorf("%s has the rule %d times, want %d", file, n, times)
		}
	}
}

// Every command that a script calls is in the rule, and is asked for before it is needed.
func TestRightsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	called := func(pattern string, files ...string) map[string]bool {
		names := map[string]bool{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				names[string(found[1])] = true
			}
		}
		return names
	}
	files, err := filepath.Glob("scripts/*.lua")
	must(t, err)
	needed := called(`redis\.p?call\('(\w+)'`, files...)
	asked := called(`try\('(\w+)'`, "scripts/rights.lua")
	needed["PING"] = true     // of a subscription
	delete(needed, "PUBLISH") // is tried before a subscription
	if !maps.Equal(needed, asked) {
		t.Errorf("the scripts call\n%v, and asked for are\n%v", slices.Sorted(maps.Keys(needed)), slices.Sorted(maps.Keys(asked)))
	}
	for _, past := range []string{"config|get", "eval", "evalsha", "publish", "script|load", "subscribe"} {
		needed[past] = true
	}
	for _, right := range testrights.Rule(t, "docs/PROTOCOL.md", "redlock") {
		delete(needed, strings.ToUpper(right[1:]))
		delete(needed, right[1:])
	}
	if len(needed) > 0 {
		t.Errorf("the rule lacks %v", needed)
	}
}

// Everything works with the rule, and the masters refuse nothing.
func TestRightsSuffice(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, rightsSuffice)
}

func rightsSuffice(t *testing.T, program string) {
	d := processes(t, 4, redisproc.Config{Program: program, AppendFsync: "always"})
	rule := testrights.Rule(t, "docs/PROTOCOL.md", "redlock")
	d.allow("redlock", rule)
	a := d.as("redlock", 3, recoveryOptions(WithName("a"))...)
	b := d.as("redlock", 3, recoveryOptions(WithName("b"))...)
	must(t, a.found(background, 0))
	must(t, a.found(background, 0)) // raises the counters
	eventually(t, "all masters are up", func() bool {
		for _, c := range []*Client{a, b} {
			lock, err := c.Lock(background, "reaching", WithWait(patience))
			must(t, err)
			must(t, lock.Unlock(background))
		}
		return allUp(a) && allUp(b)
	})
	settled(t, a)
	eventually(t, "all members know the client", func() bool { return d.knowing(a) == 3 })

	t.Run("a holder and who waits", func(t *testing.T) { rightsOfWriters(t, d, a, b) })
	t.Run("readers", func(t *testing.T) { rightsOfReaders(t, d, a, b) })
	t.Run("sets and slots", func(t *testing.T) { rightsOfSets(t, d, a, b) })
	t.Run("members", func(t *testing.T) { rightsOfMembers(t, d) })
	t.Run("a wiped master", func(t *testing.T) {
		s := d.server(0)
		s.Kill()
		must(t, s.Wipe())
		must(t, s.Restart())
		d.allow("redlock", rule) // what was set by a command is gone
		eventually(t, "it votes again", func() bool {
			lock, err := a.Lock(background, "job", WithWait(patience))
			must(t, err)
			must(t, lock.Unlock(background))
			return !slices.ContainsFunc(a.described(t).Members, func(m membership.MemberDescription) bool { return m.State != membership.Voting || m.Err != nil }) && allUp(a)
		})
	})
	must(t, a.foundAnew(background, 0))
	if refused := d.refusals(); len(refused) > 0 {
		for _, r := range refused {
			if !strings.Contains(r, "auth") { // between a master's start and the command that set the user
				t.Errorf("refused: %s", r)
			}
		}
	}
}

func rightsOfWriters(t *testing.T, d *deployment, a, b *Client) {
	lock := mustTry(t, a, "job")
	again, err := a.Lock(lock.Context(), "job") // re-entry
	must(t, err)
	got := goLock(t, b, "job")
	d.inLine("job", 1)
	must(t, lock.Extend(background, recoveryTTL))
	if v, err := b.Verify(background, "job", lock.Token()); v != VerifyValid || err != nil {
		t.Error(v, err)
	}
	must(t, again.Unlock(background))
	must(t, lock.Unlock(background))
	lock = have(t, got)
	everywhere := func() {
		for _, r := range d.raw[:3] {
			for lockOn(t, r, "job").owner != lock.h.ID {
				must(t, lock.Extend(background, recoveryTTL))
			}
		}
	}
	everywhere() // a quorum may have called
	must(t, d.raw[0].Del(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Err())
	everywhere() // repair
	must(t, lock.Unlock(background))
	kept, err := a.Lock(background, "short", WithHoldAtLeast(200*time.Millisecond))
	must(t, err)
	next := goLock(t, b, "short")
	d.inLine("short", 1)
	must(t, kept.Unlock(background)) // it lingers
	must(t, have(t, next).Unlock(background))

	// One that gives up, and one that expires.
	lock = mustTry(t, a, "left", WithTTL(recoveryTTL), WithoutWatchdog())
	_, err = b.Lock(background, "left", WithWait(50*time.Millisecond))
	requireErr(t, err, ErrHeld)
	must(t, have(t, goLock(t, b, "left")).Unlock(background))
	requireErr(t, lock.Unlock(background), ErrExpired)
}

func rightsOfReaders(t *testing.T, d *deployment, a, b *Client) {
	one, err := a.RLock(background, "book", WithTTL(recoveryTTL))
	must(t, err)
	other, err := b.TryRLock(background, "book")
	must(t, err)
	got := goLock(t, b, "book")
	d.inLine("book", 1)
	_, err = a.TryRLock(background, "book") // a writer waits
	requireErr(t, err, ErrHeld)
	must(t, one.Extend(background, recoveryTTL))
	settled(t, a)
	settled(t, b)
	must(t, d.raw[0].Del(background, script.KeysOf(limits.DefaultPrefix, "book", "").Lock).Err())
	for d.holders("book")[:3] != "111" { // restore
		must(t, one.Extend(background, recoveryTTL))
	}
	must(t, other.Unlock(background))
	must(t, one.Unlock(background))
	writer := have(t, got)
	readers := make(chan *Lock, 2)
	for _, c := range []*Client{a, a} {
		go func() {
			lock, err := c.RLock(background, "book")
			check(t, err)
			readers <- lock
		}()
	}
	eventually(t, "they wait", func() bool { return a.queues.Waiting("book") == 2 })
	must(t, writer.Downgrade(background))
	for range 2 {
		must(t, have(t, readers).Unlock(background))
	}
	must(t, writer.Unlock(background))
}

func rightsOfSets(t *testing.T, d *deployment, a, b *Client) {
	names := []string{"x", "y", "z"}
	set, err := a.LockAll(background, names)
	must(t, err)
	must(t, set.Extend(background, recoveryTTL))
	_, err = b.TryLockAll(background, names[1:])
	requireErr(t, err, ErrHeld)
	got := make(chan *Locks, 1)
	go func() {
		set, err := b.LockAll(background, names[1:])
		check(t, err)
		got <- set
	}()
	d.inLine("y", 1)
	must(t, set.Unlock(background))
	must(t, (<-got).Unlock(background))
	slot := mustTry(t, a, "seat", WithSlots(1))
	next := goLock(t, b, "seat", WithSlots(1))
	d.inLine("seat~slot1", 1)
	must(t, slot.Unlock(background))
	must(t, have(t, next).Unlock(background))
}

func rightsOfMembers(t *testing.T, d *deployment) {
	c := d.as("redlock", 4, recoveryOptions()...)
	spare := d.raw[3].Options().Addr
	old := d.raw[2].Options().Addr
	for _, change := range []membership.Change{
		addMember(spare), suspendMember(spare), resumeMember(spare), removeMember(spare),
		replaceMember(old, spare), replaceMember(spare, old),
	} {
		must(t, c.changeMembers(background, change, nil))
	}
	c.described(t)
}

// Without any one of the rights, what needs it fails at once and says which one it is, and
// nothing changes on the masters.
func TestRightsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, rightsThatAreMissingAreNamed)
}

func rightsThatAreMissingAreNamed(t *testing.T, program string) {
	d := processes(t, 3, redisproc.Config{Program: program})
	all := d.reached()
	rule := testrights.Rule(t, "docs/PROTOCOL.md", "redlock")
	held := mustTry(t, all, "held")
	blank := processes(t, 3, redisproc.Config{Program: program})
	for _, right := range testrights.Of(rule, program) {
		user := "no-" + regexp.MustCompile(`\W+`).ReplaceAllString(right, "-")
		d.allow(user, testrights.Without(rule, right))
		var seen recorder
		c := d.as(user, 3, WithObserver(Observer{MasterDown: func(m MasterStatus) { seen.note("%v", m.Err) }}))
		before := d.register(0)
		switch right {
		case "+config|get":
			must(t, mustTry(t, c, "job").Unlock(background))
		case "+subscribe", "+publish", "&redlock:waits:*":
			must(t, mustTry(t, c, "job").Unlock(background))
			ctx, cancel := context.WithTimeout(background, patience)
			var waits *Client
			waits = d.as(user, 3, WithObserver(Observer{AttemptFailed: func(context.Context, FailedAttempt) {
				if waits.uncalled.why() != nil {
					cancel()
				}
			}}))
			_, err := waits.Lock(ctx, "held")
			requireErr(t, err, context.Canceled, ErrHeld)
			requireDenied(t, err, right)
		default:
			ctx, cancel := context.WithTimeout(background, patience)
			for _, ask := range []func() error{
				func() error { _, err := c.TryLock(ctx, "job"); return err },
				func() error { _, err := c.Lock(ctx, "job"); return err },
				func() error { _, err := c.RLock(ctx, "job"); return err },
				func() error { _, err := c.LockAll(ctx, []string{"a", "b"}); return err },
				func() error { _, err := c.Lock(ctx, "job", WithSlots(2)); return err },
				func() error { return c.changeMembers(ctx, suspendMember(d.raw[2].Options().Addr), nil) },
			} {
				err := ask()
				requireDenied(t, err, right)
				if ctx.Err() != nil {
					t.Fatalf("without %s it took until the context's end: %v", right, err)
				}
			}
			if right != "+evalsha" && seen.count("") == 0 {
				t.Errorf("without %s: the observer was told nothing", right)
			}
			cancel()
			if after := d.register(0); !maps.Equal(before, after) {
				t.Errorf("without %s the register became %v, from %v", right, after, before)
			}
		}
		rightsOfInit(t, blank, user, rule, right)
	}
	must(t, held.Unlock(background))
	must(t, mustTry(t, all, "job").Unlock(background))
	must(t, mustTry(t, all, "a").Unlock(background))
}

// A command that the server does not have is named before anything is founded. Without PUBLISH or SUBSCRIBE locks work, and
// waiters poll and say why.
func TestCommandsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		for _, command := range []string{"APPEND", "DEL", "EVAL", "EVALSHA", "GET", "INCR", "SCRIPT", "TIME"} {
			d := processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			c := d.stranger()
			err := c.found(background, 0)
			requireDenied(t, err, "+"+command)
			_, err = c.TryLock(background, "job")
			requireErr(t, err, ErrNoQuorum)
			eventually(t, "nothing is left", func() bool { return len(d.raw[0].Keys(background, "*").Val()) == 0 })
		}
		for _, command := range []string{"PUBLISH", "SUBSCRIBE"} {
			d := processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			lock := mustTry(t, d.client(), "job")
			ctx, cancel := context.WithTimeout(background, patience)
			var c *Client
			c = d.client(WithObserver(Observer{AttemptFailed: func(context.Context, FailedAttempt) {
				if c.uncalled.why() != nil {
					cancel()
				}
			}}))
			_, err := c.Lock(ctx, "job")
			requireErr(t, err, context.Canceled, ErrHeld)
			requireDenied(t, err, "+"+command)
			got := goLock(t, c, "job")
			must(t, lock.Unlock(background))
			must(t, have(t, got).Unlock(background))
		}
	})
}

// rightsOfInit has a user found a deployment, who lacks a right.
func rightsOfInit(t *testing.T, d *deployment, user string, rule []string, right string) {
	t.Helper()
	d.allow(user, testrights.Without(rule, right))
	err := d.as(user, 3).found(background, 0)
	if err != nil {
		requireDenied(t, err, right)
		for i, r := range d.raw {
			// Without DEL there is one that ends after a ms, with which rights are tried.
			eventually(t, fmt.Sprintf("without %s an init leaves nothing on %s", right, d.masters[i].options().Addr), func() bool {
				return len(r.Keys(background, "*").Val()) == 0
			})
		}
	} else if !slices.Contains([]string{"+config|get", "+publish", "+subscribe", "&redlock:waits:*"}, right) {
		t.Errorf("without %s an init founded", right)
	}
	c := d.stranger()
	must(t, c.found(background, 0))
	must(t, mustTry(t, c, "job").Unlock(background))
	must(t, c.Close())
	for _, r := range d.raw {
		must(t, r.FlushAll(background).Err())
	}
}

// A right that is taken away while a client runs ends nothing but what needs it, which is told; and
// when it is there again, the client goes on.
func TestRightsThatAreTakenAway(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, rightsThatAreTakenAway)
}

func rightsThatAreTakenAway(t *testing.T, program string) {
	d := processes(t, 3, redisproc.Config{Program: program})
	d.reached()
	rule := testrights.Rule(t, "docs/PROTOCOL.md", "redlock")
	d.allow("redlock", rule)
	c := d.as("redlock", 3, WithTTL(d.ttl()))
	lock := mustTry(t, c, "job")
	settled(t, c)
	d.allow("redlock", testrights.Without(rule, "+del"))
	must(t, c.Ready(background)) // it asks for nothing that is missing
	err := lock.Unlock(background)
	requireErr(t, err, ErrNoQuorum, ErrDenied)
	_, err = c.Lock(background, "another")
	requireDenied(t, err, "+del")
	requireDenied(t, c.Ready(background), "+del")
	d.allow("redlock", rule)
	eventually(t, "the release arrives", func() bool { return d.holders("job") == "000" })
	must(t, mustTry(t, c, "job").Unlock(background))

	// An operator's change does not wait for what nobody gives it.
	ctx, cancel := context.WithTimeout(background, patience)
	defer cancel()
	err = c.changeMembers(ctx, removeMember(d.raw[2].Options().Addr), func(string) { d.allow("redlock", testrights.Without(rule, "+hgetall")) })
	requireDenied(t, err, "+hgetall")
	if ctx.Err() != nil {
		t.Errorf("it took until the context's end: %v", err)
	}
}
