package admin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/membership"
)

// Members come home under whatever name clients know them: a deployment is founded by one set of
// addresses, and used by another.

// allVote reports whether all members vote in the client's view.
func allVote(c *redlock.Client, members int) bool {
	v := harness.Inside(c).Members.View()
	return v != nil && len(v.Table.Members) == members && !slices.ContainsFunc(v.Out, func(err error) bool { return err != nil }) &&
		!slices.ContainsFunc(v.Table.Members, func(m membership.Member) bool { return m.State != membership.Voting })
}

// virtualNames founds masters in virtual time by the names "ip-0", "ip-1" and so on. Clients call
// them "host-0", "host-1" and so on.
func virtualNames(t *testing.T, n int, test func(t *testing.T, d *harness.Deployment)) {
	t.Helper()
	harness.InVirtualTime(t, n, func(t *testing.T, d *harness.Deployment) {
		masters := d.Masters
		name := func(kind string) {
			d.Masters = nil
			for i, m := range masters {
				d.Masters = append(d.Masters, named{m, fmt.Sprintf("%s-%d", kind, i)})
			}
		}
		name("ip")
		harness.Must(t, d.Client(harness.RecoveryOptions()...).Close())
		name("host")
		test(t, d)
	})
}

// knownAs returns the names of the member at an address.
func knownAs(t *testing.T, c *redlock.Client, address string) []string {
	t.Helper()
	m, err := admin.Members(background, c)
	harness.Must(t, err)
	i := slices.IndexFunc(m.Members, func(m admin.Member) bool { return m.Address == address })
	return m.Members[i].Names
}

func lockOnce(t *testing.T, c *redlock.Client) {
	t.Helper()
	harness.UnlockAll(t, harness.MustLock(t, c, "job", redlock.WithWait(time.Minute)))
	time.Sleep(50 * time.Millisecond) // as those do that call it until something has happened
}

// A client that starts after the loss has seen the member nowhere: the masters remember the name.
func TestAClientThatStartsAfterTheLoss(t *testing.T) {
	virtualNames(t, 3, func(t *testing.T, d *harness.Deployment) {
		before := d.Client(harness.RecoveryOptions()...)
		lockOnce(t, before)
		harness.Eventually(t, "the masters know the names", func() bool {
			return slices.Equal(knownAs(t, before, "ip-2"), []string{"host-2"}) && slices.Equal(knownAs(t, before, "ip-0"), []string{"host-0"})
		})
		harness.Must(t, before.Close())
		lose(d, 2)
		after := d.Client(harness.RecoveryOptions()...)
		harness.Eventually(t, "all vote again", func() bool { lockOnce(t, after); return allVote(after, 3) })
	})
}
