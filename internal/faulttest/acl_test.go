package faulttest

import (
	"context"
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
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
)

// The documented rights suffice to found a deployment, and to change and restore its members. The behaviour suite shows
// that they suffice for locks.
func TestRightsSufficeForMembers(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		rule := testrights.Rule(t, "../../docs/PROTOCOL.md", "redlock")
		d := harness.Processes(t, 4, redisproc.Config{Program: program, AppendFsync: "always"})
		d.Allow("redlock", rule)
		c := d.As("redlock", 4, harness.RecoveryOptions()...)
		harness.Must(t, admin.Init(context.Background(), d.As("redlock", 3, harness.RecoveryOptions()...), 0))
		spare, old := d.Address(3), d.Address(2)
		for _, change := range []admin.MemberChange{
			admin.AddMember(spare), admin.SuspendMember(spare), admin.ResumeMember(spare), admin.RemoveMember(spare),
			admin.ReplaceMember(old, spare), admin.ReplaceMember(spare, old),
		} {
			harness.Must(t, admin.ChangeMembers(context.Background(), c, change, nil))
		}
		harness.Must(t, d.Raw[0].FlushAll(context.Background()).Err())
		harness.Eventually(t, "it votes again", func() bool {
			harness.Must(t, harness.MustLock(t, c, "job").Unlock(context.Background()))
			return !slices.ContainsFunc(harness.Members(t, c).Members, func(m admin.Member) bool { return m.State != admin.MemberVoting || m.Err != nil })
		})
		harness.Must(t, admin.ForceInit(context.Background(), c, 0))
		for _, r := range d.Raw {
			if log, err := r.Do(context.Background(), "acl", "log").Slice(); err != nil || len(log) > 0 {
				t.Errorf("refused: %v, %v", log, err)
			}
		}
	})
}

// The rule has every command that a script calls, and a client checks the right to each command before it needs the
// command.
func TestRightsMatchScripts(t *testing.T) {
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
	needed["PING"] = true     // sent on a subscription
	delete(needed, "PUBLISH") // its right is tried before a subscription
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

// An operation whose user lacks one right fails at once and changes nothing. Its error names the right.
func TestMissingRightIsNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
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
					if harness.Inside(waits).Uncalled() != nil {
						cancel()
					}
				}}))
				_, err := waits.Lock(ctx, "held")
				harness.RequireErr(t, err, context.Canceled, redlock.ErrHeld)
				harness.RequireDenied(t, err, right)
			default:
				ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
				for _, ask := range []func() error{
					func() error { _, err := c.TryLock(ctx, "job"); return err },
					func() error { _, err := c.Lock(ctx, "job"); return err },
					func() error { _, err := c.RLock(ctx, "job"); return err },
					func() error { _, err := c.LockAll(ctx, []string{"a", "b"}); return err },
					func() error { _, err := c.Lock(ctx, "job", redlock.WithSlots(2)); return err },
					func() error {
						return admin.ChangeMembers(ctx, c, admin.SuspendMember(d.Raw[2].Options().Addr), nil)
					},
				} {
					err := ask()
					harness.RequireDenied(t, err, right)
					if ctx.Err() != nil {
						t.Fatalf("without %s it took until the context's end: %v", right, err)
					}
				}
				if right != "+evalsha" && seen.Count("") == 0 {
					t.Errorf("without %s: the observer got no event", right)
				}
				cancel()
				after := d.Register(0)
				delete(before, "looked")
				delete(after, "looked") // a look changes only this field
				if !maps.Equal(before, after) {
					t.Errorf("without %s the register became %v, from %v", right, after, before)
				}
			}
			rightsOfInit(t, blank, user, rule, right)
		}
		harness.Must(t, held.Unlock(context.Background()))
		harness.Must(t, harness.MustTry(t, all, "job").Unlock(context.Background()))
		harness.Must(t, harness.MustTry(t, all, "a").Unlock(context.Background()))
	})
}

// An error names a missing command before anything is founded. Without PUBLISH or SUBSCRIBE, locks work, and waiters
// poll and report the reason.
func TestMissingCommandIsNamed(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		for _, command := range []string{"APPEND", "DEL", "EVAL", "EVALSHA", "GET", "INCR", "SCRIPT", "TIME"} {
			d := harness.Processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			c := d.Stranger()
			err := admin.Init(context.Background(), c, 0)
			harness.RequireDenied(t, err, "+"+command)
			harness.RequireErr(t, harness.ErrOf(c.TryLock(context.Background(), "job")), redlock.ErrNoQuorum)
			harness.Eventually(t, "nothing is left", func() bool { return len(d.Raw[0].Keys(context.Background(), "*").Val()) == 0 })
		}
		for _, command := range []string{"PUBLISH", "SUBSCRIBE"} {
			d := harness.Processes(t, 1, redisproc.Config{Program: program, Conf: map[string]string{"rename-command": command + ` ""`}})
			lock := harness.MustTry(t, d.Client(), "job")
			ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
			var c *redlock.Client
			c = d.Client(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
				if harness.Inside(c).Uncalled() != nil {
					cancel()
				}
			}}))
			_, err := c.Lock(ctx, "job")
			harness.RequireErr(t, err, context.Canceled, redlock.ErrHeld)
			harness.RequireDenied(t, err, "+"+command)
			got := harness.GoLock(t, c, "job")
			harness.Must(t, lock.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		}
	})
}

// rightsOfInit runs Init as a user that lacks a right.
func rightsOfInit(t *testing.T, d *harness.Deployment, user string, rule []string, right string) {
	t.Helper()
	d.Allow(user, testrights.Without(rule, right))
	err := admin.Init(context.Background(), d.As(user, 3), 0)
	if err != nil {
		harness.RequireDenied(t, err, right)
		for i, r := range d.Raw {
			// The check of the rights writes a key. Without DEL, the key remains until it expires after 1 ms.
			harness.Eventually(t, fmt.Sprintf("without %s an init leaves nothing on %s", right, d.Masters[i].Options().Addr), func() bool {
				return len(r.Keys(context.Background(), "*").Val()) == 0
			})
		}
	} else if !slices.Contains([]string{"+config|get", "+publish", "+subscribe", "&redlock:waits:*"}, right) {
		t.Errorf("without %s an init founded", right)
	}
	c := d.Stranger(redlock.WithRequestTimeout(2 * time.Second))
	harness.Must(t, admin.Init(context.Background(), c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
	harness.Must(t, c.Close())
	for _, r := range d.Raw {
		harness.Must(t, r.FlushAll(context.Background()).Err())
	}
}
