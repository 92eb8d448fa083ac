package admin_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testservers"
)

// as returns a client that logs in as a user with these rights.
func as(t *testing.T, d *testmasters.Deployment, user string, rule []string) *redlock.Client {
	t.Helper()
	var urls []string
	for i, r := range d.Raw {
		harness.Must(t, testrights.Allow(background, r, user, rule))
		urls = append(urls, "redis://"+user+":pw@"+address(d, i))
	}
	c, err := redlock.Open(urls, redlock.WithRequestTimeout(2*time.Second))
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, c.Close()) })
	return c
}

func requireDenied(t *testing.T, err error, right string) {
	t.Helper()
	if !errors.Is(err, redlock.ErrDenied) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(testrights.NameOf(right))) {
		t.Errorf("without %s: %v", right, err)
	}
}

// refused tells whether a master has refused something with these words in it.
func refused(t *testing.T, d *testmasters.Deployment, words string) bool {
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

// Who only looks needs the lesser rule, can change nothing with it, and is told what is missing.
func TestRightsOfWhoLooks(t *testing.T) {
	t.Parallel()
	testservers.OnAll(t, rightsOfWhoLooks)
}

func rightsOfWhoLooks(t *testing.T, program string) {
	d := testmasters.Blank(t, 3, program)
	harness.Must(t, admin.Init(background, d.Client(redlock.WithRequestTimeout(10*time.Second)), 0))
	c := reached(t, d, redlock.WithName("one"))
	lock := try(t, c, "job")
	reads, err := c.TryRLock(background, "book")
	harness.Must(t, err)
	announced(t, d, lock)
	settled(t, c, 3)
	rule := testrights.Rule(t, "../docs/PROTOCOL.md", "redlock-reader")
	looks := as(t, d, "looks", rule)
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
	requireDenied(t, err, "+incr")
	err = looks.Ready(background)
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	requireDenied(t, err, "+incr")
	requireDenied(t, admin.ChangeMembers(background, looks, admin.SuspendMember(address(d, 0)), nil), "+hset")
	if now, err := admin.Members(background, looks); err != nil || now.Version != m.Version {
		t.Error(now, err)
	}
	for _, right := range testrights.Of(rule, program) {
		for _, r := range d.Raw {
			harness.Must(t, r.Do(background, "acl", "log", "reset").Err()) // it writes nothing that is named below
			harness.Must(t, r.ScriptFlush(background).Err())
		}
		c := as(t, d, "blind"+regexp.MustCompile(`\W+`).ReplaceAllString(right, "-"), testrights.Without(rule, right))
		in, err := admin.Inspect(background, c, "job")
		if right == "+get" { // of the names
			if harness.Must(t, err); in.Quorum.State != admin.LockHeld || in.Quorum.Holder.Name != "" {
				t.Errorf("%+v", in.Quorum)
			}
			continue
		}
		if right == "+zrange" || right == "+time" { // of readers
			_, err = admin.Inspect(background, c, "book")
		}
		if !errors.Is(err, redlock.ErrDenied) {
			t.Errorf("without %s: %v", right, err)
		}
		named := strings.Contains(strings.ToLower(fmt.Sprint(err)), testrights.NameOf(right))
		if !named && !(strings.Contains(err.Error(), "ACL LOG") && refused(t, d, strings.TrimPrefix(right, "+"))) {
			t.Errorf("without %s neither the error nor ACL LOG says so: %v", right, err)
		}
	}
	harness.Must(t, reads.Unlock(background))
	harness.Must(t, lock.Unlock(background))
}
