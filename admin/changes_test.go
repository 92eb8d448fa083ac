package admin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// If two clients have different lists of masters, the deployment's members decide: the clients never both hold the
// lock, tokens never repeat, and a client whose list does not fit gets an error about the list.
func TestClientsWithDifferentMasterLists(t *testing.T) {
	t.Parallel()
	for claim, x := range map[string]struct {
		members, one, other []int  // of six servers
		fails               string // why the second client, of the masters in other, cannot lock; "": it can
	}{
		"3 of 5, and all":                     {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{0, 1, 2, 3, 4}, ""},
		"1 2 3, and 3 4 5, of 5":              {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{2, 3, 4}, ""},
		"a host that was replaced in one":     {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 1, 5}, ""},
		"two hosts that were replaced in one": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 4, 5}, "the client's masters lack: "},
	} {
		harness.RunInVirtualTime(t, claim, 6, func(t *testing.T, d *harness.Deployment) {
			harness.Must(t, admin.Init(context.Background(), clientOn(d, x.members, harness.RecoveryOptions()...), 0))
			var mu sync.Mutex
			var tokens []fence.Token
			var both sync.WaitGroup
			for i, list := range [][]int{x.one, x.other} {
				c := clientOn(d, list, harness.RecoveryOptions()...)
				both.Go(func() {
					for range 20 {
						if i == 1 && x.fails != "" {
							harness.RequireText(t, harness.MustFail(t, c, "job"), "it belongs to no deployment", x.fails)
							return
						}
						lock, err := c.Lock(context.Background(), "job", redlock.WithWait(harness.Patience))
						if err != nil || !mu.TryLock() {
							t.Errorf("client %d is a second holder, or none: %v", i, err)
							return
						}
						tokens = append(tokens, lock.Token())
						mu.Unlock()
						harness.Check(t, lock.Unlock(context.Background()))
					}
				})
			}
			both.Wait()
			if !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != len(tokens) {
				t.Errorf("tokens %v", tokens)
			}
		})
	}
}

// A master of another deployment, or with another prefix, does not vote, and its error names the reason.
func TestMasterOfOtherDeployment(t *testing.T) {
	harness.InVirtualTime(t, 6, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[:3], opts...), 0))
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[3:4], opts...), 0))
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[4:5], d.InTime(harness.RecoveryOptions(redlock.WithPrefix("other"))...)...), 0))
		var recorded harness.Recorder
		watch := redlock.WithObserver(redlock.Observer{NotAMember: func(m redlock.MasterStatus) { recorded.Note("%s: %v", m.Master, m.Err) }})
		c := harness.ClientOn(t, []*redis.Client{d.Raw[0], d.Raw[1], d.Raw[2], d.Raw[4]}, append([]redlock.Option{watch}, opts...)...)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		both := harness.ClientOn(t, d.Raw[:4], opts...) // a client of masters of two deployments
		harness.Must(t, harness.MustTry(t, both, "job").Unlock(context.Background()))
		d.Masters[0].Die()
		d.Masters[1].Die()
		harness.RequireText(t, harness.MustFail(t, c, "job"), d.Address(4)+" refused: redlock: master is no voting member: it belongs to no deployment")
		harness.RequireText(t, harness.MustFail(t, both, "job"), d.Address(3)+" refused: redlock: master is no voting member: it belongs to another deployment")
		for _, i := range []int{0, 1} {
			d.Masters[i].Revive()
		}
		// A client whose masters belong to two deployments locks in neither of them.
		mixed := harness.ClientOn(t, []*redis.Client{d.Raw[2], d.Raw[3]}, opts...)
		harness.RequireText(t, harness.MustFail(t, mixed, "job"), "the masters belong to 2 deployments")
	})
}

// members returns the members by the numbers of their servers; members that do not vote are in parentheses.
func members(d *harness.Deployment, c *redlock.Client) string {
	var all []string
	for _, is := range harness.Members(d.T, c).Members {
		i := slices.IndexFunc(d.Raw, func(r *redis.Client) bool { return r.Options().Addr == is.Address })
		text := fmt.Sprint(i)
		if is.State != admin.MemberVoting {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// An attempt during a change is repeated, and waits until the grants of its first try are released. (Another owner's
// lock simulates these grants.)
func TestLockWaitsForExpiryAfterChange(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		operator, c := d.Reached(), d.Reached()
		for _, change := range []admin.MemberChange{admin.SuspendMember(d.Address(0)), admin.ResumeMember(d.Address(0))} {
			harness.Must(t, admin.ChangeMembers(context.Background(), operator, change, nil))
		}
		const gone = 200 * time.Millisecond
		for _, r := range d.Raw[:2] {
			harness.Must(t, r.Set(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock, "owner 7 ", gone).Err())
		}
		begin := time.Now()
		lock := harness.MustTry(t, c, "job")
		if took := time.Since(begin); took < gone {
			t.Errorf("locked after %v, beside another", took)
		}
		harness.Must(t, lock.Unlock(context.Background()))
		harness.Must(t, harness.MustTry(t, operator, "job").Unlock(context.Background()))
	})
}

// An operator that dies in the middle of a change delays no caller beyond the request timeout, whether a
// majority has accepted the change or not.
func TestUncommittedVersion(t *testing.T) {
	t.Parallel()
	for accepted := 1; accepted <= 5; accepted++ {
		harness.RunInVirtualTime(t, fmt.Sprint(accepted), 5, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached(redlock.WithRequestTimeout(500 * time.Millisecond))
			halfSuspend(d, c, accepted)
			begin := time.Now()
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			if took := time.Since(begin); took > harness.Inside(c).RequestTimeout {
				t.Errorf("it took %v", took)
			}
			harness.Eventually(t, "all members are at one version, and those that vote know that it is committed", func() bool {
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
				one := d.Register(0)
				for i := range d.Masters {
					if is := d.Register(i); is["version"] != one["version"] || is["votes"] != "" && is["learned"] == "" {
						return false
					}
				}
				return true
			})
		})
	}
}

// halfSuspend makes the first masters accept the suspension of the first of five members, and does not finish the
// change.
func halfSuspend(d *harness.Deployment, c *redlock.Client, accepted int) {
	v := harness.Inside(c).Members.View()
	table := strings.Replace(d.Register(0)["table"], `"voting"`, `"suspended"`, 1)
	table = strings.Replace(table, `"prev":`, `"before":`, 1)
	table = strings.TrimSuffix(table, "}") + `,"prev":[` + quoted(v.Table.Members[0].ID, v.Table.Members[1].ID, v.Table.Members[2].ID, v.Table.Members[3].ID, v.Table.Members[4].ID) + `]}`
	ballot := "0000000099.00000000-0000-4000-8000-000000000000"
	for i := range accepted {
		harness.Must(d.T, redis.NewScript(script.AcceptSource).Run(context.Background(), d.Raw[i], []string{script.RegisterKey(limits.DefaultPrefix)}, v.Table.Members[i].ID, ballot, table, v.Deployment).Err())
	}
}

func quoted(words ...string) string { return `"` + strings.Join(words, `","`) + `"` }

// A former member joins again with a new id, and gets the counters again.
func TestReplacedMemberRejoins(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		harness.Must(t, admin.Init(context.Background(), harness.ClientOn(t, d.Raw[:3], opts...), 0))
		c := harness.ClientOn(t, d.Raw, opts...)
		before := d.Register(2)["id"]
		harness.Must(t, admin.ChangeMembers(context.Background(), c, admin.ReplaceMember(d.Address(2), d.Address(3)), nil))
		var last fence.Token
		for range 10 {
			lock := harness.MustTry(t, c, "job")
			last = lock.Token()
			harness.Must(t, lock.Unlock(context.Background()))
		}
		harness.Must(t, admin.ChangeMembers(context.Background(), c, admin.ReplaceMember(d.Address(3), d.Address(2)), nil))
		is := d.Register(2)
		n, err := d.Raw[2].Get(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Fence).Uint64()
		if is["id"] == before || err != nil || fence.Token(n) < last {
			t.Errorf("id %s, it was %s; counter %d, the last token was %d", is["id"], before, n, last)
		}
	})
}

// The observer gets the versions that are learned, and the transitions of members.
func TestMemberObserver(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		operator := d.Reached()
		var recorded harness.Recorder
		c := d.Client(redlock.WithObserver(redlock.Observer{
			VersionLearned: func(table redlock.TableVersion) { recorded.Note("version %d", table.Version) },
			MemberChanged:  func(m redlock.MemberTransition) { recorded.Note("%s: %q to %q", m.Address, m.From, m.To) },
			NotAMember:     func(m redlock.MasterStatus) { recorded.Note("%s is out", m.Master) },
		}))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		first := harness.Inside(c).Members.View().Number()
		harness.Must(t, admin.ChangeMembers(context.Background(), operator, admin.SuspendMember(d.Address(0)), nil))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		then := harness.Inside(c).Members.View().Number()
		harness.Must(t, harness.MustAll(t, c, []string{"a", "b"}).Unlock(context.Background())) // one member does not vote
		want := []string{
			fmt.Sprint("version ", first),
			fmt.Sprintf(`%s: "voting" to "suspended"`, d.Address(0)), fmt.Sprint("version ", then), d.Address(0) + " is out",
		}
		harness.Eventually(t, "all is told", func() bool {
			events := recorded.Events()
			return !slices.ContainsFunc(want, func(event string) bool { return !slices.Contains(events, event) })
		})
	})
}

// A change is not made if too few members answer, and ChangeMembers reports what it waits for.
func TestChangeWithoutQuorum(t *testing.T) {
	t.Parallel()
	for claim, x := range map[string]struct {
		change func(d *harness.Deployment) admin.MemberChange
		at     string // the text of the progress report at which two of three members die; "": before the change
	}{
		"replace": {func(d *harness.Deployment) admin.MemberChange {
			return admin.ReplaceMember(d.Address(2), d.Address(3))
		}, ""},
		"add":             {func(d *harness.Deployment) admin.MemberChange { return admin.AddMember(d.Address(3)) }, ""},
		"add, in between": {func(d *harness.Deployment) admin.MemberChange { return admin.AddMember(d.Address(3)) }, "votes in"},
		"replace, in between": {func(d *harness.Deployment) admin.MemberChange {
			return admin.ReplaceMember(d.Address(2), d.Address(3))
		}, "votes in"},
		"remove, in between": {func(d *harness.Deployment) admin.MemberChange { return admin.RemoveMember(d.Address(2)) }, "is removed in"},
	} {
		harness.RunInVirtualTime(t, claim, 4, func(t *testing.T, d *harness.Deployment) {
			harness.Must(t, admin.Init(context.Background(), clientOn(d, []int{0, 1, 2}, harness.RecoveryOptions()...), 0))
			c := d.Stranger(harness.RecoveryOptions()...)
			die := sync.OnceFunc(func() {
				d.Masters[0].Die()
				d.Masters[1].Die()
			})
			if x.at == "" {
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
				die()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			var recorded harness.Recorder
			err := admin.ChangeMembers(ctx, c, x.change(d), func(what string) {
				if recorded.Note("%s", what); x.at != "" && strings.Contains(what, x.at) {
					die()
				}
			})
			harness.RequireErr(t, err, context.DeadlineExceeded)
			if recorded.Count("") == 0 {
				t.Error("nothing is reported")
			}
			d.Masters[0].Revive()
			d.Masters[1].Revive()
			harness.Must(t, admin.ChangeMembers(context.Background(), c, x.change(d), nil))
			harness.Must(t, harness.MustLock(t, c, "job").Unlock(context.Background()))
		})
	}
}

// A removal waits for the end of earlier grants, and gives the counters of the larger quorum to the smaller one.
func TestRemovalKeepsCounters(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(harness.RecoveryOptions()...)
		held := harness.MustTry(t, c, "held")
		fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
		for _, i := range []int{0, 3} {
			harness.Must(t, d.Raw[i].Set(context.Background(), fence, 1_000_000, 0).Err())
		}
		var recorded harness.Recorder
		begin := time.Now()
		harness.Must(t, admin.ChangeMembers(context.Background(), c, admin.RemoveMember(d.Address(3)), func(what string) { recorded.Note("%s", what) }))
		took, want := time.Since(begin), harness.RecoveryMaxTTL+time.Duration(limits.DefaultDrift*float64(harness.RecoveryMaxTTL))
		if took < want || took > want+2*time.Second || recorded.Count("it is removed in 3s") == 0 {
			t.Errorf("it took %v, want %v and little more; progress is %q", took, want, recorded.Events())
		}
		if got := members(d, c); got != "0 1 2" {
			t.Errorf("the members are %s", got)
		}
		for i := range 3 {
			if n, err := d.Raw[i].Get(context.Background(), fence).Int64(); err != nil || n < 1_000_000 {
				t.Errorf("the counter of master %d is %d, %v", i, n, err)
			}
		}
		harness.UnlockAll(t, held, harness.MustTry(t, c, "job"))
	})
}

// All kinds of changes happen in sequence, and then a member loses its data. Each change takes little more than its
// quarantine, and a hold lives on.
func TestChangesInSequence(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		d.Founded = true
		harness.Must(t, admin.Init(ctx, harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		c := d.Stranger(harness.RecoveryOptions()...)
		held, err := c.Lock(ctx, "held")
		harness.Must(t, err)
		var last fence.Token
		for _, step := range []struct {
			change admin.MemberChange
			wait   bool // the change waits for a quarantine
			want   string
		}{
			{change: admin.AddMember(d.Address(3)), wait: true, want: "0 1 2 3"},
			{change: admin.AddMember(d.Address(3)), want: "0 1 2 3"},
			{change: admin.ReplaceMember(d.Address(2), d.Address(4)), wait: true, want: "0 1 4 3"},
			{change: admin.SuspendMember(d.Address(0)), want: "(0) 1 4 3"},
			{change: admin.ResumeMember(d.Address(0)), want: "0 1 4 3"},
			{change: admin.RemoveMember(d.Address(3)), wait: true, want: "0 1 4"},
			{change: admin.RemoveMember(d.Address(3)), want: "0 1 4"},
		} {
			begin := time.Now()
			harness.Must(t, admin.ChangeMembers(ctx, c, step.change, nil))
			took := time.Since(begin)
			if least := harness.RecoveryMaxTTL; step.wait != (took >= least) || took > least+2*time.Second {
				t.Errorf("%+v took %v", step.change, took)
			}
			if got := members(d, c); got != step.want {
				t.Errorf("%+v: the members are %s, want %s", step.change, got, step.want)
			}
			lock, err := c.Lock(ctx, "job")
			harness.Must(t, err)
			if lock.Token() <= last {
				t.Errorf("%+v: token %d after %d", step.change, lock.Token(), last)
			}
			last = lock.Token()
			harness.Must(t, lock.Unlock(context.Background()))
		}
		lost := d.Masters[1].(harness.EmbeddedMaster)
		lost.Kill(true)
		lost.Revive()
		begin := time.Now()
		harness.Eventually(t, "the one that lost its data is new", func() bool {
			_ = harness.MustTry(t, c, "job").Unlock(context.Background())
			return members(d, c) == "0 (1) 4"
		})
		harness.Eventually(t, "it votes again", func() bool {
			time.Sleep(100 * time.Millisecond) // until all masters have reported
			return members(d, c) == "0 1 4"
		})
		if took := time.Since(begin); took < harness.RecoveryMaxTTL || took > 2*harness.RecoveryMaxTTL {
			t.Errorf("it votes again after %v", took)
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}
