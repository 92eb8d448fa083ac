package faulttest

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

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testhook"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
)

// refusals returns what the masters have refused since the last time, and has them forget it.
func refusals(d *harness.Deployment) (all []string) {
	d.T.Helper()
	for _, r := range d.Raw {
		log, err := r.Do(context.Background(), "acl", "log").Slice()
		harness.Must(d.T, err)
		for _, entry := range log {
			all = append(all, fmt.Sprint(entry))
		}
		harness.Must(d.T, r.Do(context.Background(), "acl", "log", "reset").Err())
	}
	return all
}

func requireDenied(t *testing.T, err error, right string) {
	t.Helper()
	if !errors.Is(err, redlock.ErrDenied) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(testrights.NameOf(right))) {
		t.Errorf("without %s: %v", right, err)
	}
}

// aclsInDocker returns the ACL files of the masters in Docker that have users, with the variables
// of the passwords.
func aclsInDocker(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docker/compose.acl.yaml")
	harness.Must(t, err)
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

// The masters in Docker that have users have the rule, and shut the user default in the way that
// SECURITY.md demands.
func TestRightsInDocker(t *testing.T) {
	t.Parallel()
	for i, file := range aclsInDocker(t) {
		if !strings.HasPrefix(file, "user default off ~* &* +@all\n") {
			t.Errorf("users%d does not begin with the line that shuts default:\n%s", i+1, file)
		}
		user := fmt.Sprintf("user redlock reset on >${PASSWORD%d} %s\n", i+1, strings.Join(testrights.Rule(t, "../../docs/PROTOCOL.md", "redlock"), " "))
		if !strings.HasSuffix(file, "\n"+user) {
			t.Errorf("users%d does not end with %s\n%s", i+1, user, file)
		}
	}
}

// An operator's user may run what the documents and redlock doctor tell operators to run.
func TestRightsOfOperators(t *testing.T) {
	t.Parallel()
	const rule = "+acl +config +info +latency +ping +replicaof +shutdown +slowlog"
	for file, times := range map[string]int{"../../docs/OPERATIONS.md": 1, "../../deploy/users.acl": 1, "../../docker/compose.acl.yaml": 3} {
		text, err := os.ReadFile(file)
		harness.Must(t, err)
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
			harness.Must(t, err)
			for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				names[string(found[1])] = true
			}
		}
		return names
	}
	files, err := filepath.Glob("../../scripts/*.lua")
	harness.Must(t, err)
	needed := called(`redis\.p?call\('(\w+)'`, files...)
	asked := called(`try\('(\w+)'`, "../../scripts/rights.lua")
	needed["PING"] = true     // of a subscription
	delete(needed, "PUBLISH") // is tried before a subscription
	if !maps.Equal(needed, asked) {
		t.Errorf("the scripts call\n%v, and asked for are\n%v", slices.Sorted(maps.Keys(needed)), slices.Sorted(maps.Keys(asked)))
	}
	for _, past := range []string{"config|get", "eval", "evalsha", "publish", "script|load", "subscribe"} {
		needed[past] = true
	}
	for _, right := range testrights.Rule(t, "../../docs/PROTOCOL.md", "redlock") {
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
	d := harness.Processes(t, 4, redisproc.Config{Program: program, AppendFsync: "always"})
	rule := testrights.Rule(t, "../../docs/PROTOCOL.md", "redlock")
	d.Allow("redlock", rule)
	a := d.As("redlock", 3, harness.RecoveryOptions(redlock.WithName("a"))...)
	b := d.As("redlock", 3, harness.RecoveryOptions(redlock.WithName("b"))...)
	harness.Must(t, harness.Found(context.Background(), a, 0))
	harness.Must(t, harness.Found(context.Background(), a, 0)) // raises the counters
	harness.Eventually(t, "all masters are up", func() bool {
		for _, c := range []*redlock.Client{a, b} {
			lock, err := c.Lock(context.Background(), "reaching", redlock.WithWait(harness.Patience))
			harness.Must(t, err)
			harness.Must(t, lock.Unlock(context.Background()))
		}
		return harness.AllUp(a) && harness.AllUp(b)
	})
	harness.Settled(t, a)
	harness.Eventually(t, "all members know the client", func() bool { return d.Knowing(a) == 3 })

	t.Run("a holder and who waits", func(t *testing.T) { rightsOfWriters(t, d, a, b) })
	t.Run("readers", func(t *testing.T) { rightsOfReaders(t, d, a, b) })
	t.Run("sets and slots", func(t *testing.T) { rightsOfSets(t, d, a, b) })
	t.Run("members", func(t *testing.T) { rightsOfMembers(t, d) })
	t.Run("a wiped master", func(t *testing.T) {
		s := d.Server(0)
		s.Kill()
		harness.Must(t, s.Wipe())
		harness.Must(t, s.Restart())
		d.Allow("redlock", rule) // what was set by a command is gone
		harness.Eventually(t, "it votes again", func() bool {
			lock, err := a.Lock(context.Background(), "job", redlock.WithWait(harness.Patience))
			harness.Must(t, err)
			harness.Must(t, lock.Unlock(context.Background()))
			return !slices.ContainsFunc(harness.Described(t, a).Members, func(m membership.MemberDescription) bool { return m.State != membership.Voting || m.Err != nil }) && harness.AllUp(a)
		})
	})
	harness.Must(t, harness.FoundAnew(context.Background(), a, 0))
	if refused := refusals(d); len(refused) > 0 {
		for _, r := range refused {
			if !strings.Contains(r, "auth") { // between a master's start and the command that set the user
				t.Errorf("refused: %s", r)
			}
		}
	}
}

func rightsOfWriters(t *testing.T, d *harness.Deployment, a, b *redlock.Client) {
	lock := harness.MustTry(t, a, "job")
	again, err := a.Lock(lock.Context(), "job") // re-entry
	harness.Must(t, err)
	got := harness.GoLock(t, b, "job")
	d.InLine("job", 1)
	harness.Must(t, lock.Extend(context.Background(), harness.RecoveryTTL))
	if v, err := b.Verify(context.Background(), "job", lock.Token()); v != redlock.VerifyValid || err != nil {
		t.Error(v, err)
	}
	harness.Must(t, again.Unlock(context.Background()))
	harness.Must(t, lock.Unlock(context.Background()))
	lock = harness.Have(t, got)
	everywhere := func() {
		for _, r := range d.Raw[:3] {
			for harness.LockOn(t, r, "job").Owner != harness.Hold(lock).ID {
				harness.Must(t, lock.Extend(context.Background(), harness.RecoveryTTL))
			}
		}
		harness.Must(t, lock.Extend(context.Background(), harness.RecoveryTTL)) // where it was written back counts from here
		harness.Settled(t, b)
	}
	everywhere() // a quorum may have called
	harness.Must(t, d.Raw[0].Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Err())
	everywhere() // repair
	harness.Must(t, lock.Unlock(context.Background()))
	kept, err := a.Lock(context.Background(), "short", redlock.WithHoldAtLeast(200*time.Millisecond))
	harness.Must(t, err)
	next := harness.GoLock(t, b, "short")
	d.InLine("short", 1)
	harness.Must(t, kept.Unlock(context.Background())) // it lingers
	harness.Must(t, harness.Have(t, next).Unlock(context.Background()))

	// One that gives up, and one that expires.
	lock = harness.MustTry(t, a, "left", redlock.WithTTL(harness.RecoveryTTL), redlock.WithoutWatchdog())
	_, err = b.Lock(context.Background(), "left", redlock.WithWait(50*time.Millisecond))
	harness.RequireErr(t, err, redlock.ErrHeld)
	harness.Must(t, harness.Have(t, harness.GoLock(t, b, "left")).Unlock(context.Background()))
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
}

func rightsOfReaders(t *testing.T, d *harness.Deployment, a, b *redlock.Client) {
	one, err := a.RLock(context.Background(), "book", redlock.WithTTL(harness.RecoveryTTL))
	harness.Must(t, err)
	other, err := b.TryRLock(context.Background(), "book")
	harness.Must(t, err)
	got := harness.GoLock(t, b, "book")
	d.InLine("book", 1)
	_, err = a.TryRLock(context.Background(), "book") // a writer waits
	harness.RequireErr(t, err, redlock.ErrHeld)
	harness.Must(t, one.Extend(context.Background(), harness.RecoveryTTL))
	harness.Settled(t, a)
	harness.Settled(t, b)
	harness.Must(t, d.Raw[0].Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "book", "").Lock).Err())
	for d.Holders("book")[:3] != "111" { // restore
		harness.Must(t, one.Extend(context.Background(), harness.RecoveryTTL))
	}
	harness.Must(t, other.Unlock(context.Background()))
	harness.Must(t, one.Unlock(context.Background()))
	writer := harness.Have(t, got)
	readers := make(chan *redlock.Lock, 2)
	for _, c := range []*redlock.Client{a, a} {
		go func() {
			lock, err := c.RLock(context.Background(), "book")
			harness.Check(t, err)
			readers <- lock
		}()
	}
	harness.Eventually(t, "they wait", func() bool { return harness.Waiting(a, "book") == 2 })
	harness.Must(t, writer.Downgrade(context.Background()))
	for range 2 {
		harness.Must(t, harness.Have(t, readers).Unlock(context.Background()))
	}
	harness.Must(t, writer.Unlock(context.Background()))
}

func rightsOfSets(t *testing.T, d *harness.Deployment, a, b *redlock.Client) {
	names := []string{"x", "y", "z"}
	set, err := a.LockAll(context.Background(), names)
	harness.Must(t, err)
	harness.Must(t, set.Extend(context.Background(), harness.RecoveryTTL))
	_, err = b.TryLockAll(context.Background(), names[1:])
	harness.RequireErr(t, err, redlock.ErrHeld)
	got := make(chan *redlock.Locks, 1)
	go func() {
		set, err := b.LockAll(context.Background(), names[1:])
		harness.Check(t, err)
		got <- set
	}()
	d.InLine("y", 1)
	harness.Must(t, set.Unlock(context.Background()))
	harness.Must(t, (<-got).Unlock(context.Background()))
	slot := harness.MustTry(t, a, "seat", redlock.WithSlots(1))
	next := harness.GoLock(t, b, "seat", redlock.WithSlots(1))
	d.InLine("seat~slot1", 1)
	harness.Must(t, slot.Unlock(context.Background()))
	harness.Must(t, harness.Have(t, next).Unlock(context.Background()))
}

func rightsOfMembers(t *testing.T, d *harness.Deployment) {
	c := d.As("redlock", 4, harness.RecoveryOptions()...)
	spare := d.Raw[3].Options().Addr
	old := d.Raw[2].Options().Addr
	for _, change := range []membership.Change{
		harness.AddMember(spare), harness.SuspendMember(spare), harness.ResumeMember(spare), harness.RemoveMember(spare),
		harness.ReplaceMember(old, spare), harness.ReplaceMember(spare, old),
	} {
		harness.Must(t, harness.ChangeMembers(context.Background(), c, change, nil))
	}
	harness.Described(t, c)
}

// Without any one of the rights, what needs it fails at once and says which one it is, and nothing
// changes on the masters.
func TestRightsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, rightsThatAreMissingAreNamed)
}

func rightsThatAreMissingAreNamed(t *testing.T, program string) {
	d := harness.Processes(t, 3, redisproc.Config{Program: program})
	all := d.Reached()
	rule := testrights.Rule(t, "../../docs/PROTOCOL.md", "redlock")
	held := harness.MustTry(t, all, "held")
	blank := harness.Processes(t, 3, redisproc.Config{Program: program})
	for _, right := range testrights.Of(rule, program) {
		user := "no-" + regexp.MustCompile(`\W+`).ReplaceAllString(right, "-")
		d.Allow(user, testrights.Without(rule, right))
		var seen harness.Recorder
		c := d.As(user, 3, redlock.WithObserver(redlock.Observer{MasterDown: func(m redlock.MasterStatus) { seen.Note("%v", m.Err) }}))
		before := d.Register(0)
		switch right {
		case "+config|get":
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		case "+subscribe", "+publish", "&redlock:waits:*":
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
			var waits *redlock.Client
			waits = d.As(user, 3, redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
				if testhook.Acquire(waits).Uncalled() != nil {
					cancel()
				}
			}}))
			_, err := waits.Lock(ctx, "held")
			harness.RequireErr(t, err, context.Canceled, redlock.ErrHeld)
			requireDenied(t, err, right)
		default:
			ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
			for _, ask := range []func() error{
				func() error { _, err := c.TryLock(ctx, "job"); return err },
				func() error { _, err := c.Lock(ctx, "job"); return err },
				func() error { _, err := c.RLock(ctx, "job"); return err },
				func() error { _, err := c.LockAll(ctx, []string{"a", "b"}); return err },
				func() error { _, err := c.Lock(ctx, "job", redlock.WithSlots(2)); return err },
				func() error {
					return harness.ChangeMembers(ctx, c, harness.SuspendMember(d.Raw[2].Options().Addr), nil)
				},
			} {
				err := ask()
				requireDenied(t, err, right)
				if ctx.Err() != nil {
					t.Fatalf("without %s it took until the context's end: %v", right, err)
				}
			}
			if right != "+evalsha" && seen.Count("") == 0 {
				t.Errorf("without %s: the observer was told nothing", right)
			}
			cancel()
			after := d.Register(0)
			delete(before, "looked")
			delete(after, "looked") // what else it has does not change by a look
			if !maps.Equal(before, after) {
				t.Errorf("without %s the register became %v, from %v", right, after, before)
			}
		}
		rightsOfInit(t, blank, user, rule, right)
	}
	harness.Must(t, held.Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, all, "job").Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, all, "a").Unlock(context.Background()))
}

// A command that the server does not have is named before anything is founded. Without PUBLISH or
// SUBSCRIBE locks work, and waiters poll and say why.
func TestCommandsThatAreMissingAreNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		for _, command := range []string{"APPEND", "DEL", "EVAL", "EVALSHA", "GET", "INCR", "SCRIPT", "TIME"} {
			d := harness.Processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			c := d.Stranger()
			err := harness.Found(context.Background(), c, 0)
			requireDenied(t, err, "+"+command)
			_, err = c.TryLock(context.Background(), "job")
			harness.RequireErr(t, err, redlock.ErrNoQuorum)
			harness.Eventually(t, "nothing is left", func() bool { return len(d.Raw[0].Keys(context.Background(), "*").Val()) == 0 })
		}
		for _, command := range []string{"PUBLISH", "SUBSCRIBE"} {
			d := harness.Processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			lock := harness.MustTry(t, d.Client(), "job")
			ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
			var c *redlock.Client
			c = d.Client(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
				if testhook.Acquire(c).Uncalled() != nil {
					cancel()
				}
			}}))
			_, err := c.Lock(ctx, "job")
			harness.RequireErr(t, err, context.Canceled, redlock.ErrHeld)
			requireDenied(t, err, "+"+command)
			got := harness.GoLock(t, c, "job")
			harness.Must(t, lock.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		}
	})
}

// rightsOfInit has a user found a deployment, who lacks a right.
func rightsOfInit(t *testing.T, d *harness.Deployment, user string, rule []string, right string) {
	t.Helper()
	d.Allow(user, testrights.Without(rule, right))
	err := harness.Found(context.Background(), d.As(user, 3), 0)
	if err != nil {
		requireDenied(t, err, right)
		for i, r := range d.Raw {
			// Without DEL there is one that ends after a ms, with which rights are tried.
			harness.Eventually(t, fmt.Sprintf("without %s an init leaves nothing on %s", right, d.Masters[i].Options().Addr), func() bool {
				return len(r.Keys(context.Background(), "*").Val()) == 0
			})
		}
	} else if !slices.Contains([]string{"+config|get", "+publish", "+subscribe", "&redlock:waits:*"}, right) {
		t.Errorf("without %s an init founded", right)
	}
	c := d.Stranger()
	harness.Must(t, harness.Found(context.Background(), c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
	harness.Must(t, c.Close())
	for _, r := range d.Raw {
		harness.Must(t, r.FlushAll(context.Background()).Err())
	}
}
