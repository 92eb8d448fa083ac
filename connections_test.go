package redlock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// urls are those of a deployment of processes, with userinfo and path in them.
func (d *deployment) urls(userinfo, path string) []string {
	var all []string
	for _, m := range d.masters {
		all = append(all, "redis://"+userinfo+m.(processMaster).Addr()+path)
	}
	return all
}

// requirePassword sets the password of every server, and sends everybody away who
// is connected, but raw.
func (d *deployment) requirePassword(password string) {
	d.t.Helper()
	for _, r := range d.raw {
		must(d.t, r.ConfigSet(background, "requirepass", password).Err())
		must(d.t, r.Do(background, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	}
}

// A server refuses a password or a database while the connection is set up, which
// go-redis tells like a reply to the commands: they read as answered, by a server
// without a version.
func TestRefusedConnectionsSayWhy(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	for _, r := range d.raw {
		must(t, r.Do(background, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-info").Err())
	}
	d.requirePassword("secret")
	for _, refused := range []struct{ userinfo, path, says string }{
		{"", "", "NOAUTH"},
		{":wrong@", "", "WRONGPASS"},
		{":wrong@", "/1", "WRONGPASS"},
		{"nobody:secret@", "", "WRONGPASS"},
		{":secret@", "/99", "DB index is out of range"},
		{"reader:pw@", "", "NOPERM"},
	} {
		c, err := Open(d.urls(refused.userinfo, refused.path))
		must(t, err)
		defer c.Close()
		_, err = c.TryLock(background, "job")
		requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
		requireSays(t, err, refused.says, d.raw[0].Options().Addr)
		err = c.Init(background, 0)
		requireErr(t, err, ErrNoQuorum)
		requireSays(t, err, refused.says, d.raw[0].Options().Addr)
	}

	c, err := Open(d.urls(":secret@", ""))
	must(t, err)
	defer c.Close()
	must(t, mustTry(t, c, "job").Unlock(background))
	d.requirePassword("rotated")
	eventually(t, "the rotated password is told", func() bool {
		_, err = c.TryLock(background, "job")
		return strings.Contains(fmt.Sprint(err), "WRONGPASS")
	})
	requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
	d.requirePassword("secret")
	eventually(t, "locks again", func() bool {
		lock, err := c.TryLock(background, "job")
		return err == nil && lock.Unlock(background) == nil
	})
}

func requireSays(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) || strings.Contains(fmt.Sprint(err), "version") {
			t.Errorf("got %v; want one that says %q", err, w)
		}
	}
}
