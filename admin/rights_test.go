package admin_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
)

// refused reports whether a master has refused a command whose text contains the words.
func refused(t *testing.T, d *harness.Deployment, words string) bool {
	t.Helper()
	for _, r := range d.Raw {
		log, err := r.Do(background, "acl", "log").Slice()
		harness.Must(t, err)
		if strings.Contains(fmt.Sprint(log), words) {
			return true
		}
	}
	return false
}

// For admin.Inspect and admin.Members the shorter rule is enough. A client can change nothing with this rule, and the
// error of a call names the missing right.
func TestReaderRights(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, func(t *testing.T, program string) {
		d := harness.Processes(t, 3, redisproc.Config{Program: program, AppendFsync: "always"})
		c := d.Reached(redlock.WithName("one"))
		lock := harness.MustTry(t, c, "job")
		reads := harness.MustTryRead(t, c, "book")
		allKnow(d, c)
		harness.Settled(t, c)
		as := func(user string, rule []string) *redlock.Client {
			d.Allow(user, rule)
			return d.As(user, 3)
		}
		rule := testrights.Rule(t, "../docs/PROTOCOL.md", "redlock-reader")
		looks := as("looks", rule)
		if got := inspect(t, looks, "job").Quorum; got.State != admin.LockHeld || got.Holder.Name != "one" || got.Token != lock.Token() {
			t.Errorf("%+v", got)
		}
		if got := inspect(t, looks, "book").Quorum; got.State != admin.LockRead || len(got.Readers) != 1 || got.Readers[0].Holder.Name != "one" {
			t.Errorf("%+v", got)
		}
		m, err := admin.Members(background, looks)
		harness.Must(t, err)
		if len(m.Members) != 3 || m.Members[0].Err != nil {
			t.Errorf("%+v", m)
		}
		_, err = looks.Lock(background, "free")
		harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
		harness.RequireDenied(t, err, "+incr")
		err = looks.Ready(background)
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		harness.RequireDenied(t, err, "+incr")
		harness.RequireDenied(t, admin.ChangeMembers(background, looks, admin.SuspendMember(d.Address(0)), nil), "+hset")
		if now, err := admin.Members(background, looks); err != nil || now.Version != m.Version {
			t.Error(now, err)
		}
		for _, right := range testrights.Of(rule, program) {
			for _, r := range d.Raw {
				harness.Must(t, r.Do(background, "acl", "log", "reset").Err()) // from here on the log has only what c is denied
				harness.Must(t, r.ScriptFlush(background).Err())
			}
			c := as("blind"+regexp.MustCompile(`\W+`).ReplaceAllString(right, "-"), testrights.Without(rule, right))
			in, err := admin.Inspect(background, c, "job")
			if right == "+get" { // this right is only for the names of clients
				if harness.Must(t, err); in.Quorum.State != admin.LockHeld || in.Quorum.Holder.Name != "" {
					t.Errorf("%+v", in.Quorum)
				}
				continue
			}
			if right == "+zrange" || right == "+time" { // these rights are only for readers
				_, err = admin.Inspect(background, c, "book")
			}
			if !errors.Is(err, redlock.ErrDenied) {
				t.Errorf("without %s: %v", right, err)
			}
			named := strings.Contains(strings.ToLower(fmt.Sprint(err)), testrights.NameOf(right))
			if !named && !(strings.Contains(err.Error(), "ACL LOG") && refused(t, d, strings.TrimPrefix(right, "+"))) {
				t.Errorf("without %s neither the error nor ACL LOG names it: %v", right, err)
			}
		}
		harness.Must(t, reads.Unlock(background))
		harness.Must(t, lock.Unlock(background))
	})
}
