package admin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
)

// Changes that would leave too few voting members, or that do not fit the members, are refused.
func TestChangesRefused(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, admin.Init(background, clientOn(d, []int{0, 1, 2}, harness.RecoveryOptions()...), 0))
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, admin.ChangeMembers(background, c, admin.SuspendMember(d.Address(0)), nil))
		harness.Must(t, admin.ChangeMembers(background, c, admin.SuspendMember(d.Address(0)), nil)) // suspended already: no change
		for message, change := range map[string]admin.MemberChange{
			"only 1 of 3 members would vote": admin.SuspendMember(d.Address(1)),
			"only 2 of 4 members would vote": admin.AddMember(d.Address(3)),
			"is no member":                   admin.SuspendMember(d.Address(3)),
			"is a member already":            admin.ReplaceMember(d.Address(1), d.Address(0)),
			"elsewhere:6379 is no member":    admin.ReplaceMember("elsewhere:6379", d.Address(3)),
		} {
			err := admin.ChangeMembers(background, c, change, nil)
			harness.RequireErr(t, err, admin.ErrChangeRefused)
			harness.RequireText(t, err, message)
		}
		for _, change := range []admin.MemberChange{
			{}, admin.AddMember(""), admin.ReplaceMember("", d.Address(3)), admin.ReplaceMember(d.Address(1), ""),
			admin.SuspendMember(""), admin.ResumeMember(""), admin.RemoveMember(""),
		} {
			harness.RequireErr(t, admin.ChangeMembers(background, c, change, nil), redlock.ErrBadOption)
		}
		var message []string // a removal can be repeated
		harness.Must(t, admin.ChangeMembers(background, c, admin.RemoveMember("elsewhere:6379"), func(text string) { message = append(message, text) }))
		if got := strings.Join(message, "; "); got != "elsewhere:6379 is no member" {
			t.Errorf("reported %q", got)
		}
		harness.Must(t, admin.ChangeMembers(background, c, admin.ResumeMember(d.Address(0)), nil))
		harness.RequireText(t, admin.ChangeMembers(background, c, admin.AddMember("elsewhere:6379"), nil), "is none of the masters")
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(background))
		d.Masters[3].Die()
		ctx, cancel := context.WithTimeout(background, 3*time.Second)
		defer cancel()
		var progress []string
		err := admin.ChangeMembers(ctx, c, admin.AddMember(d.Address(3)), func(text string) { progress = append(progress, text) })
		harness.RequireErr(t, err, context.DeadlineExceeded)
		if !strings.Contains(fmt.Sprint(progress), "does not answer") {
			t.Error(progress)
		}
		one := clientOn(d, []int{0}, harness.RecoveryOptions(redlock.WithPrefix("one"))...)
		harness.Must(t, admin.Init(background, one, 0))
		two := clientOn(d, []int{0, 1}, harness.RecoveryOptions(redlock.WithPrefix("one"))...)
		harness.RequireErr(t, admin.ChangeMembers(background, two, admin.AddMember(d.Address(1)), nil), admin.ErrChangeRefused)
	})
}

// A change fails with ErrNeedsInit if too many members lost their data.
func TestChangeNeedsInit(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		for _, r := range d.Raw[:2] {
			harness.Must(t, r.FlushAll(background).Err())
		}
		ctx, cancel := context.WithTimeout(background, 10*time.Second)
		defer cancel()
		harness.RequireErr(t, admin.ChangeMembers(ctx, c, admin.SuspendMember(d.Address(0)), nil), redlock.ErrNeedsInit)
	})
}

// Members reports the master of each member, the member's error and remaining wait, and masters that are no members.
func TestMembersReport(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(harness.RecoveryOptions()...)
		expect := func(c *redlock.Client, members, others string) {
			t.Helper()
			m, err := admin.Members(background, c)
			harness.Must(t, err)
			var got, rest []string
			for i, is := range m.Members {
				if is.Address != d.Address(i) || is.Err == nil && is.Master != is.Address || is.State == admin.MemberVoting && is.Left != 0 {
					t.Errorf("member %d: %+v", i, is)
				}
				text := string(is.State)
				if is.Left > 0 {
					text += ", waits"
				}
				if is.Err != nil {
					text += ": " + strings.ReplaceAll(is.Err.Error(), is.Address, "ADDRESS")
				}
				got = append(got, text)
			}
			for _, other := range m.Others {
				rest = append(rest, fmt.Sprintf("%s: %s%v", other.Master, other.State, other.Err))
			}
			if got := strings.Join(got, "; "); got != members {
				t.Errorf("the members: %s\nwant %s", got, members)
			}
			if rest := strings.Join(rest, "; "); rest != others {
				t.Errorf("the others: %s\nwant %s", rest, others)
			}
		}
		expect(c, "voting; voting; voting; voting; voting", "")
		expect(clientOn(d, []int{0, 1, 2, 4}, harness.RecoveryOptions()...), "voting; voting; voting; voting: none of the masters that were given is this member; voting", "")
		d.Masters[3].Die()
		_, err := admin.Members(background, c) // the call may use a connection from before the restart
		harness.Must(t, err)
		expect(c, "voting; voting; voting; voting: dial embedded ADDRESS: connect: connection refused; voting", "")
		d.Masters[3].Revive()
		harness.Must(t, admin.ChangeMembers(background, c, admin.SuspendMember(d.Address(4)), nil))
		expect(c, "voting; voting; voting; voting; suspended, waits", "")
		time.Sleep(2 * harness.RecoveryMaxTTL)
		expect(c, "voting; voting; voting; voting; suspended", "")
		harness.Must(t, admin.ChangeMembers(background, c, admin.RemoveMember(d.Address(4)), nil))
		expect(c, "voting; voting; voting; voting", d.Address(4)+": it belongs to the deployment, but is no member<nil>")
	})
}
