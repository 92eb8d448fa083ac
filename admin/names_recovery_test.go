package admin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testmasters"
)

// Members come home under whatever name clients know them: a deployment is founded by one set of
// addresses, and used by another.

// allVote reports whether all members vote, as the client knows.
func allVote(c *redlock.Client, members int) bool {
	v := harness.Inside(c).Members.View()
	return v != nil && len(v.Table.Members) == members && !slices.ContainsFunc(v.Out, func(err error) bool { return err != nil }) &&
		!slices.ContainsFunc(v.Table.Members, func(m membership.Member) bool { return m.State != membership.Voting })
}

// virtualNames founds masters in virtual time by the names "ip-0", "ip-1" and so on.
func virtualNames(t *testing.T, n int, test func(t *testing.T, d *testmasters.Deployment)) {
	t.Helper()
	testmasters.VirtualBlank(t, n, func(t *testing.T, d *testmasters.Deployment) {
		d.Addresses = names(n, "ip")
		founder := d.Client(short()...)
		harness.Must(t, admin.Init(background, founder, 0))
		harness.Must(t, founder.Close())
		d.Addresses = names(n, "host")
		test(t, d)
	})
}

func names(n int, kind string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%d", kind, i))
	}
	return all
}

// lose takes a master its data while it is down.
func lose(t *testing.T, d *testmasters.Deployment, i int) {
	t.Helper()
	d.Embedded[i].Kill(true)
	harness.Must(t, d.Embedded[i].Restart())
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
	lock, err := c.Lock(background, "job", redlock.WithWait(time.Minute))
	harness.Must(t, err)
	harness.Must(t, lock.Unlock(background))
}

// In virtual time the bound can be told: each votes again within the max ttl and two seconds.
func TestHowSoonAMemberComesHome(t *testing.T) {
	t.Parallel()
	virtualNames(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		c := d.Client(short()...)
		lockOnce(t, c)
		for i := range 3 {
			start := time.Now()
			lose(t, d, i)
			harness.Eventually(t, "the loss is seen", func() bool { lockOnce(t, c); return !allVote(c, 3) })
			harness.Eventually(t, "all vote again", func() bool { return allVote(c, 3) })
			if took := time.Since(start); took > maxTTL+2*time.Second {
				t.Errorf("master %d votes after %v, later than the max ttl of %v and 2 s", i, took, maxTTL)
			}
		}
	})
}

// A client that starts after the loss has seen the member nowhere: the masters remember the name.
func TestAClientThatStartsAfterTheLoss(t *testing.T) {
	t.Parallel()
	virtualNames(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		before := d.Client(short()...)
		lockOnce(t, before)
		harness.Eventually(t, "the masters know the names", func() bool {
			return slices.Equal(knownAs(t, before, "ip-2"), []string{"host-2"}) && slices.Equal(knownAs(t, before, "ip-0"), []string{"host-0"})
		})
		harness.Must(t, before.Close())
		lose(t, d, 2)
		after := d.Client(short()...)
		harness.Eventually(t, "all vote again", func() bool { lockOnce(t, after); return allVote(after, 3) })
	})
}

// One server that two clients take for two members has one place.
func TestOneServerForTwoMembers(t *testing.T) {
	t.Parallel()
	virtualNames(t, 5, func(t *testing.T, d *testmasters.Deployment) {
		a, b := d.Client(short()...), d.Client(short()...)
		lockOnce(t, a)
		lockOnce(t, b)
		harness.Must(t, b.Close())
		d.Embedded[4].Kill(true) // it is away
		lose(t, d, 3)            // a saw member 3 there; b is told that it is member 4
		d.Addresses = []string{"host-0", "host-1", "host-2", "host-4"}
		b = d.ClientOn([]int{0, 1, 2, 3}, short()...)
		harness.Eventually(t, "four vote", func() bool {
			lockOnce(t, a)
			lockOnce(t, b)
			m, err := admin.Members(background, a)
			harness.Must(t, err)
			ids, voting := map[string]bool{}, 0
			for _, m := range m.Members {
				if ids[m.ID] {
					t.Fatalf("%s has two places", m.ID)
				}
				ids[m.ID] = true
				if m.State == admin.MemberVoting && m.Err == nil {
					voting++
				}
			}
			return len(m.Members) == 5 && voting == 4
		})
	})
}

// A name that moved to the server of another deployment makes it no member.
func TestANameThatMovedToOthers(t *testing.T) {
	t.Parallel()
	virtualNames(t, 3, func(t *testing.T, d *testmasters.Deployment) {
		c := d.Client(short()...)
		lockOnce(t, c)
		was, err := admin.Members(background, c)
		harness.Must(t, err)
		harness.Must(t, d.Raw[2].HSet(background, script.RegisterKey(limits.DefaultPrefix), "deployment", "another").Err())
		d.Embedded[2].Kill(false)
		harness.Must(t, d.Embedded[2].Restart())
		for range 100 {
			time.Sleep(time.Second)
			lockOnce(t, c)
		}
		is, err := admin.Members(background, c)
		harness.Must(t, err)
		if is.Version != was.Version {
			t.Errorf("the members changed: version %d, it was %d", is.Version, was.Version)
		}
	})
}
