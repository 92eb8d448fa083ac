package scripts_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testrights"
)

// If a server refuses a command, this does not show that data is lost, that another owner holds the lock, or that a
// waiter is dead.

// lesser returns a client of a user with all rights, and a function that removes rights.
func lesser(t *testing.T, r *redis.Client) (user *redis.Client, may func(but ...string)) {
	t.Helper()
	may = func(but ...string) {
		t.Helper()
		words := []any{"acl", "setuser", "lesser", "reset", "on", ">pw", "~*", "&*", "+@all"}
		for _, right := range but {
			words = append(words, right)
		}
		harness.Must(t, r.Do(context.Background(), words...).Err())
	}
	may()
	o := *r.Options()
	o.Username, o.Password = "lesser", "pw"
	user = redis.NewClient(&o)
	t.Cleanup(func() { _ = user.Close() })
	return user, may
}

// refusals runs each operation of the cases several times: once without each right that the operation uses.
type refusals struct {
	*server
	may    func(but ...string)
	rights []string        // the rights that users have, by the documentation
	seen   map[string]bool // the tests that were run already
}

// If one right is missing, an operation ends no membership, lowers no counter, takes no lock from its owner, and
// drops no waiter that it did not call. With all rights again, the master votes as before.
func TestRefusedOperationLosesNothing(t *testing.T) {
	t.Parallel()
	all := refusals{server: newServer(t, startRedis(t, ""), nil), seen: map[string]bool{}}
	all.by, all.may = lesser(t, all.r)
	for _, right := range testrights.Rule(t, "../docs/PROTOCOL.md", "redlock") {
		if name, is := strings.CutPrefix(right, "+"); is && !strings.HasPrefix(name, "eval") {
			all.rights = append(all.rights, name)
		}
	}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			all.t = t
			lines := strings.Split(d.Input, "\n")
			for i, line := range lines {
				if _, operates := registerSources[strings.Fields(line)[0]]; operates || operation.MatchString(line) {
					all.refuse(lines[:i], line)
				}
			}
			return d.Expected
		})
	})
	if n := len(all.seen); n < 500 {
		t.Errorf("only %d commands were refused", n)
	}
}

var (
	// operation matches a line with a single operation.
	operation = regexp.MustCompile(`^(acquire|share|reenter|confirm|know|extend|stay|repair|restore|release|pass|undo|linger|leave|verify) [^|]*$`)
	gives     = regexp.MustCompile(`^(release|pass|undo|linger) `)
	keeps     = regexp.MustCompile(gives.String() + "|" + renews.String())
	renews    = regexp.MustCompile(`^(extend|reenter|stay|repair|restore) `)

	commandStats = regexp.MustCompile(`cmdstat_([^:]+):calls=`)

	// lost matches replies which show a client that data is lost, or belongs to another member. notMine
	// matches replies which show that another owner has the lock.
	lost    = regexp.MustCompile(`^(NOTMEMBER|CLAIMED|BELONGS|PROMISED|UNFIT|VERSION)`)
	notMine = regexp.MustCompile(`^(not mine|held)`)
	failed  = regexp.MustCompile(`^(NOPERM|ERR|@user_script)`)
)

// refuse runs these lines, and then one operation without a right, for each right. It leaves out a right if another
// case has tested the same.
func (s *refusals) refuse(before []string, line string) {
	s.t.Helper()
	prepare := func() {
		s.may()
		s.begin()
		for _, line := range before {
			if strings.HasPrefix(line, "happens") || strings.HasPrefix(line, "memory") {
				continue
			}
			if !s.setUp(line) {
				s.operate(line)
			}
		}
	}
	prepare()
	if number(s.stored("")["fence"]) >= script.MaxCounter-1 { // the counter may reach its end without a refusal
		return
	}
	harness.Must(s.t, s.r.ConfigResetStat(context.Background()).Err())
	allowed := s.operate(line)
	commands := commandStats.FindAllStringSubmatch(s.r.Info(context.Background(), "commandstats").Val(), -1)
	for _, found := range commands {
		right, what := found[1], fmt.Sprint(line, allowed, commands, found)
		if !slices.Contains(s.rights, right) || s.seen[what] {
			continue
		}
		s.seen[what] = true
		prepare()
		was := s.stored("")
		s.may("-" + right)
		reply := s.operate(line)
		is := s.stored("")
		s.may()
		again := s.operate(line)
		for _, wrong := range []struct {
			what string
			is   bool
		}{
			{"it takes the data for lost", !lost.MatchString(allowed) && (lost.MatchString(reply) || lost.MatchString(again))},
			{"it takes the lock for another's", !notMine.MatchString(allowed) && (keeps.MatchString(line) && notMine.MatchString(reply) || renews.MatchString(line) && notMine.MatchString(again))},
			{"the register is another", failed.MatchString(reply) && !strings.HasSuffix(line, "finish") && !maps.Equal(registerOf(was), registerOf(is))},
			{"the counter is lower", number(was["fence"]) > number(is["fence"])},
			{"a holder lost the lock", !keptHolders(line, was["lock"], is["lock"])},
			{"a waiter was dropped, and not called", right == "publish" && !keptWaiters(line, was["queue"], is)},
		} {
			if wrong.is {
				s.t.Errorf("without %s: %s after %q\nreplies %q instead of %q, and with all rights then %q: %s\n%v was\n%v", right, line, before, reply, allowed, again, wrong.what, is, was)
			}
		}
	}
}

// registerOf returns the stored fields of the register that a refused operation must not change.
func registerOf(stored map[string]string) map[string]string {
	register := maps.Clone(stored)
	maps.DeleteFunc(register, func(name, _ string) bool {
		return regexp.MustCompile(`^(lock|queue|asked|gone:|offer:|fence|promised|weak|names:)`).MatchString(name)
	})
	return register
}

// number parses a counter; 0 if it is lost.
func number(counter string) int64 {
	n, _ := strconv.ParseInt(counter, 10, 64)
	return n
}

func holders(lock string) (all []string) {
	if value, written := strings.CutPrefix(lock, `"`); written {
		if owner, _, _ := strings.Cut(value, " "); owner != "" {
			return []string{owner}
		}
		return nil
	}
	for _, found := range regexp.MustCompile(`(\w+)=[^0]`).FindAllStringSubmatch(lock, -1) {
		all = append(all, found[1])
	}
	return all
}

// keptHolders reports whether all holders still hold the lock, except for a holder that releases.
func keptHolders(line, was, is string) bool {
	for _, owner := range holders(was) {
		if !slices.Contains(holders(is), owner) && !(gives.MatchString(line) && owner == strings.Fields(line)[1]) {
			return false
		}
	}
	return true
}

// keptWaiters reports whether all waiters are still in the queue, unless the lock is taken or kept.
func keptWaiters(line, queue string, is map[string]string) bool {
	for _, channel := range strings.Split(strings.TrimSuffix(queue, " for 60s"), ", ") {
		channel = strings.TrimSuffix(channel, " (to read)")
		if slices.Contains(subscribed, channel) && !strings.Contains(is["queue"], channel) && is["lock"] == "" && !strings.HasPrefix(line, "leave") {
			return false
		}
	}
	return true
}

// A missing counter stays missing until the master is no longer a member, even if the server at first refuses the
// command that ends the membership.
func TestLossOutlastsRefusal(t *testing.T) {
	t.Parallel()
	s := newServer(t, startRedis(t, ""), nil)
	user, may := lesser(t, s.r)
	s.by = user
	for _, was := range []string{"none", "-1", strconv.FormatInt(script.MaxCounter, 10)} {
		s.begin()
		s.setUp("fence " + was)
		may("-hdel")
		for range 5 {
			if reply := s.operate("acquire o"); !failed.MatchString(reply) {
				t.Errorf("%s: without +hdel: %s", was, reply)
			}
		}
		may()
		if reply := s.operate("acquire o"); reply != "NOTMEMBER" {
			t.Errorf("%s: and with +hdel: %s", was, reply)
		}
	}
}
