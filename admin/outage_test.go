package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// outages returns an observer of members that are out, and a func that returns its records.
func outages() (redlock.Option, func() []redlock.MasterStatus) {
	reports := make(chan redlock.MasterStatus, 100)
	return redlock.WithObserver(redlock.Observer{MemberOut: func(m redlock.MasterStatus) { reports <- m }}), func() (all []redlock.MasterStatus) {
		for {
			select {
			case m := <-reports:
				all = append(all, m)
			default:
				return all
			}
		}
	}
}

// findsADeadMember locks until c knows that a master is down: a quick lock may end before the
// client has tried that master.
func findsADeadMember(t *testing.T, c *redlock.Client) {
	t.Helper()
	harness.Eventually(t, "it finds that a member is down", func() bool { lockOnce(t, c); return !harness.AllUp(c) })
}

// A member whose server stays away is reported once, by a client that makes no calls meanwhile.
func TestMissingMemberIsReportedOnce(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		observed, reports := outages()
		c := d.Client(harness.RecoveryOptions(observed)...)
		lockOnce(t, c)
		d.Masters[2].Die()
		findsADeadMember(t, c)
		time.Sleep(harness.RecoveryMaxTTL + time.Minute - time.Second)
		if all := reports(); len(all) > 0 {
			t.Errorf("reported too early: %+v", all)
		}
		time.Sleep(10 * time.Minute)
		all := reports()
		if len(all) != 1 || all[0].Master != d.Address(2) || !strings.Contains(fmt.Sprint(all[0].Err), "redlock members replace "+d.Address(2)) {
			t.Fatalf("reported %+v", all)
		}
		d.Masters[2].Revive()
		harness.Eventually(t, "all are up again", func() bool { lockOnce(t, c); return harness.AllUp(c) })
		time.Sleep(time.Second) // the client has observed the member
		d.Masters[2].Die()
		findsADeadMember(t, c)
		time.Sleep(10 * time.Minute)
		if all := reports(); len(all) != 1 {
			t.Errorf("reported of the next outage: %+v", all)
		}
	})
}

// A blank server with an unknown name is reported with a command that repairs it.
func TestMemberWithUnknownNameIsReported(t *testing.T) {
	virtualNames(t, 3, func(t *testing.T, d *harness.Deployment) {
		lose(d, 1)
		observed, reports := outages()
		c := d.Client(harness.RecoveryOptions(observed)...)
		lockOnce(t, c)
		m, err := admin.Members(background, c)
		harness.Must(t, err)
		const mend = "give its server too; if that is host-1, and lost its data: redlock members replace ip-1 host-1"
		if m.Members[1].Mend != mend {
			t.Errorf("Members returns %+v", m.Members[1])
		}
		time.Sleep(2 * time.Minute)
		all := reports()
		if len(all) != 1 || all[0].Master != "ip-1" || !strings.HasSuffix(fmt.Sprint(all[0].Err), ": "+mend) {
			t.Fatalf("reported %+v", all)
		}
		harness.Must(t, admin.ChangeMembers(background, c, admin.ReplaceMember("ip-1", "host-1"), nil))
		harness.Eventually(t, "all vote again", func() bool { lockOnce(t, c); return allVote(c, 3) })
		if m, err = admin.Members(background, c); err != nil || m.Members[1].Mend != "" || m.Members[1].Address != "host-1" {
			t.Errorf("Members returns %+v, %v", m.Members, err)
		}
	})
}

// Short-lived clients, one a minute, restore members together: each takes the steps that are due
// during its life.
func TestShortLivedClientsRestoreMembers(t *testing.T) {
	virtualNames(t, 3, func(t *testing.T, d *harness.Deployment) {
		job := func() (votes int) {
			c := d.Client(harness.RecoveryOptions()...)
			lock := harness.MustLock(t, c, "job", redlock.WithWait(time.Minute))
			time.Sleep(time.Millisecond)
			harness.Must(t, lock.Unlock(background))
			harness.Must(t, c.Close())
			for _, r := range d.Raw {
				if fields := r.HGetAll(background, script.RegisterKey(limits.DefaultPrefix)).Val(); fields["votes"] != "" && fields["learned"] != "" {
					votes++
				}
			}
			return votes
		}
		job()
		for i := range 3 {
			lose(d, i)
			jobs := 0
			for votes := 0; votes < 3; jobs++ {
				if jobs > 5 {
					t.Fatalf("%d vote %d jobs after the loss of master %d", votes, jobs, i)
				}
				votes = job()
				time.Sleep(time.Minute)
			}
			t.Logf("master %d votes again after %d jobs", i, jobs)
		}
	})
}

// The tests below found a deployment with one set of addresses, and use it with another set. Members are restored under
// the addresses that clients use.

// allVote reports whether all members vote in the client's view.
func allVote(c *redlock.Client, members int) bool {
	v := harness.Inside(c).Members.View()
	return v != nil && len(v.Table.Members) == members && !slices.ContainsFunc(v.Out, func(err error) bool { return err != nil }) &&
		!slices.ContainsFunc(v.Table.Members, func(m membership.Member) bool { return m.State != membership.Voting })
}

// virtualNames founds masters as "ip-0", "ip-1" and so on; clients call them "host-0", "host-1".
func virtualNames(t *testing.T, n int, test func(t *testing.T, d *harness.Deployment)) {
	t.Helper()
	harness.InVirtualTime(t, n, func(t *testing.T, d *harness.Deployment) {
		masters := d.Masters
		name := func(kind string) {
			d.Masters = nil
			for i, m := range masters {
				d.Masters = append(d.Masters, harness.Named{Master: m, Address: fmt.Sprintf("%s-%d", kind, i)})
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
	time.Sleep(50 * time.Millisecond) // like a program that calls Members until something has happened
}

// A client that starts after the loss has not seen the member under any name, but the masters remember the name.
func TestNewClientLearnsMemberNames(t *testing.T) {
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
