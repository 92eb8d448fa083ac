package admin_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Two services with different lists: whatever they are given, the members of the deployment decide.
// They never both hold, tokens never repeat, and each is told what is wrong with its list.
func TestDifferentListsOfMasters(t *testing.T) {
	t.Parallel()
	for claim, x := range map[string]struct {
		members, one, other []int   // of six servers
		works               [2]bool // one and other can lock
		says                func(d *harness.Deployment) []string
	}{
		"3 of 5, and all":        {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{0, 1, 2, 3, 4}, [2]bool{true, true}, nil},
		"1 2 3, and 3 4 5, of 5": {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{2, 3, 4}, [2]bool{true, true}, nil},
		"1 2 3, and 3 4 5, of 3": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{2, 3, 4}, [2]bool{true, false}, func(d *harness.Deployment) []string {
			return []string{d.Address(3) + " refused: redlock: master is no voting member: it belongs to no deployment", "the client's masters lack: " + d.Address(0) + ", " + d.Address(1)}
		}},
		"a host that was replaced in one": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 1, 5}, [2]bool{true, true}, nil},
		"two hosts that were replaced in one": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 4, 5}, [2]bool{true, false}, func(d *harness.Deployment) []string {
			return []string{d.Address(4) + " refused: redlock: master is no voting member: it belongs to no deployment", "the client's masters lack: " + d.Address(1) + ", " + d.Address(2)}
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 6, func(t *testing.T, d *harness.Deployment) {
				pick := func(which []int) (servers []*redis.Client) {
					for _, i := range which {
						servers = append(servers, d.Raw[i])
					}
					return servers
				}
				opts := d.InTime(harness.RecoveryOptions()...)
				harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, pick(x.members), opts...), 0))
				clients := []*redlock.Client{harness.ClientOn(t, pick(x.one), opts...), harness.ClientOn(t, pick(x.other), opts...)}
				var holders atomic.Int32
				var mu sync.Mutex
				var tokens []fence.Token
				var both sync.WaitGroup
				for i, c := range clients {
					both.Go(func() {
						wait := harness.Patience
						if !x.works[i] {
							wait = time.Second
						}
						for range 20 {
							lock, err := c.Lock(context.Background(), "job", redlock.WithWait(wait))
							if (err == nil) != x.works[i] {
								t.Errorf("client %d: %v", i, err)
								return
							}
							if err != nil {
								harness.RequireSays(t, err, x.says(d)...)
								return
							}
							if holders.Add(1) > 1 {
								t.Error("two holders")
							}
							mu.Lock()
							tokens = append(tokens, lock.Token())
							mu.Unlock()
							holders.Add(-1)
							harness.Check(t, lock.Unlock(context.Background()))
						}
					})
				}
				both.Wait()
				if !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != len(tokens) {
					t.Errorf("tokens %v", tokens)
				}
			})
		})
	}
}

// A master of another deployment, or of another prefix's, does not vote, and says so.
func TestAMasterOfAnotherDeployment(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 6, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], opts...), 0))
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[3:4], opts...), 0))
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[4:5], d.InTime(harness.RecoveryOptions(redlock.WithPrefix("other"))...)...), 0))
		var told harness.Recorder
		watch := redlock.WithObserver(redlock.Observer{NotAMember: func(m redlock.MasterStatus) { told.Note("%s: %v", m.Master, m.Err) }})
		c := harness.ClientOn(t, []*redis.Client{d.Raw[0], d.Raw[1], d.Raw[2], d.Raw[4]}, append([]redlock.Option{watch}, opts...)...)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		// Of a list that has some masters of another one, all clients choose the same.
		var both *redlock.Client
		for range 20 {
			c := harness.ClientOn(t, d.Raw[:4], opts...)
			both = c
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			if len(harness.Inside(c).Members.View().Table.Members) != 3 {
				t.Fatalf("it went by %v", harness.Inside(c).Members.View())
			}
		}
		d.Masters[0].Die()
		d.Masters[1].Die()
		harness.RequireSays(t, harness.MustFail(t, c, "job"), d.Address(4)+" refused: redlock: master is no voting member: it belongs to no deployment")
		harness.RequireSays(t, harness.MustFail(t, both, "job"), d.Address(3)+" refused: redlock: master is no voting member: it belongs to another deployment")
		for _, i := range []int{0, 1} {
			d.Masters[i].Revive()
		}
		// Of two deployments neither is chosen before it is known which is meant.
		mixed := harness.ClientOn(t, []*redis.Client{d.Raw[2], d.Raw[3]}, opts...)
		harness.RequireSays(t, harness.MustFail(t, mixed, "job"), "the masters belong to 2 deployments")
	})
}

// One server under two addresses has one vote.
func TestAServerThatIsGivenTwice(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	harness.Must(t, harness.Found(context.Background(), d.Stranger(harness.RecoveryOptions()...), 0))
	alias := redis.NewClient(&redis.Options{Addr: "alias:6379", Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, d.Address(0))
	}})
	t.Cleanup(func() { _ = alias.Close() })
	c := harness.ClientOn(t, []*redis.Client{d.Raw[0], alias}, harness.RecoveryOptions()...)
	for range 10 {
		harness.RequireSays(t, harness.MustFail(t, c, "job"), "it is the same server as", "the client's masters lack")
	}
	if err := harness.Found(context.Background(), c, 0); err == nil {
		t.Error("one server was founded twice")
	}
	harness.RequireSays(t, harness.Found(context.Background(), harness.ClientOn(t, []*redis.Client{d.Raw[0], alias}, harness.RecoveryOptions(redlock.WithPrefix("new"))...), 0), "the same server")

	// That localhost is 127.0.0.1 is known before anybody is asked.
	_, err := redlock.Open([]string{"redis://localhost", "redis://127.0.0.1:6379", "redis://redis", "redis://REDIS."})
	harness.RequireErr(t, err, redlock.ErrBadOption)
	harness.RequireSays(t, err, "masters[1]", "127.0.0.1:6379", "must not be the same server as masters[0]", "masters[3]", "must not be the same server as masters[2]")
}

// aliasMaster is a master under another address.
type aliasMaster struct{ harness.Master }

func (m aliasMaster) Options() *redis.Options {
	o := *m.Master.Options()
	o.Addr = "alias:6379"
	return &o
}

// One server under two addresses is one member too when a new member gets the counters of a quorum,
// and is let vote.
func TestAServerThatIsGivenTwiceIsNoQuorumOfCounters(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(harness.RecoveryOptions()...)
		v := harness.Inside(c).Members.View()
		harness.Must(t, c.Close())
		register := script.RegisterKey(limits.DefaultPrefix)
		ballot, table := "0000000099.00000000-0000-4000-8000-000000000000", d.Register(0)["table"]
		last := strings.LastIndex(table, `"voting"`)
		table = table[:last] + `"new"` + table[last+len(`"voting"`):]
		for i, m := range v.Table.Members {
			for _, source := range []string{script.AcceptSource, script.LearnSource} {
				harness.Must(t, d.Raw[i].Eval(context.Background(), source, []string{register}, m.ID, ballot, table, v.Deployment).Err())
			}
		}
		harness.Must(t, d.Raw[2].HDel(context.Background(), register, "synced").Err()) // init gave it those of the others
		d.Masters[1].Die()
		d.Masters[1] = aliasMaster{d.Masters[0]}
		twice := d.Stranger(harness.RecoveryOptions()...)
		for end := time.Now().Add(2 * v.Table.Quarantine()); time.Now().Before(end); time.Sleep(v.Table.Quarantine() / 10) {
			harness.RequireErr(t, harness.MustFail(t, twice, "job"), redlock.ErrNoQuorum, redlock.ErrNotMember)
			if is := d.Register(2); is["synced"] != "" || is["votes"] != "" {
				t.Fatalf("it has the counters of one member, and not of a quorum: %v", is)
			}
		}
	})
}

// A client whose settings do not fit the deployment is told what would be right.
func TestSettingsOfTheDeployment(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, harness.Found(context.Background(), d.Stranger(redlock.WithMaxTTL(time.Minute), redlock.WithDrift(0.02)), 0))
		for field, c := range map[string]*redlock.Client{
			"max ttl": d.Stranger(redlock.WithMaxTTL(2 * time.Minute)),
			"drift":   d.Stranger(redlock.WithDrift(0.01)),
		} {
			_, err := c.TryLock(context.Background(), "job")
			harness.RequireOptionError(t, err, field)
			_, err = c.Lock(context.Background(), "job")
			harness.RequireOptionError(t, err, field)
		}
		for _, c := range []*redlock.Client{d.Stranger(), d.Stranger(redlock.WithMaxTTL(40 * time.Second)), d.Stranger(redlock.WithDrift(0.02)), d.Stranger(redlock.WithDrift(0.5))} {
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		}
		small := d.Stranger(redlock.WithPrefix("small"), redlock.WithMaxTTL(10*time.Second))
		harness.Must(t, harness.Found(context.Background(), small, 0))
		_, err := d.Stranger(redlock.WithPrefix("small")).TryLock(context.Background(), "job", redlock.WithTTL(30*time.Second))
		harness.RequireOptionError(t, err, "ttl")
		_, err = d.Stranger(redlock.WithPrefix("small")).TryLock(context.Background(), "job", redlock.WithTTL(6*time.Second), redlock.WithLockDelay(5*time.Second))
		harness.RequireOptionError(t, err, "ttl")
		harness.MustTry(t, d.Stranger(redlock.WithPrefix("small")), "delayed", redlock.WithLockDelay(5*time.Second)) // the default leaves room for it
		lock := harness.MustTry(t, d.Stranger(redlock.WithPrefix("small")), "job")                                   // the default fits
		harness.RequireOptionError(t, lock.Extend(context.Background(), 20*time.Second), "ttl")
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// members tells who they are, by the place of their servers; those that do not vote in parentheses.
func members(d *harness.Deployment, c *redlock.Client) string {
	var all []string
	for _, is := range harness.Described(d.T, c).Members {
		i := slices.IndexFunc(d.Raw, func(r *redis.Client) bool { return r.Options().Addr == is.Address })
		text := fmt.Sprint(i)
		if is.State != membership.Voting {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// A change whose operator dies at any message is finished when it is made again; meanwhile locks
// are had and kept.
func TestAnOperatorThatDies(t *testing.T) {
	t.Parallel()
	for first, x := range []struct {
		name   string
		change func(d *harness.Deployment) membership.Change
	}{
		{"replace", func(d *harness.Deployment) membership.Change {
			return harness.ReplaceMember(d.Address(2), d.Address(3))
		}},
		{"add", func(d *harness.Deployment) membership.Change { return harness.AddMember(d.Address(3)) }},
		{"suspend", func(d *harness.Deployment) membership.Change { return harness.SuspendMember(d.Address(2)) }},
		{"remove", func(d *harness.Deployment) membership.Change { return harness.RemoveMember(d.Address(2)) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			change := x.change
			for at := 8 + 3*first; at < 80; at += 12 {
				harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
					d.Founded = true
					harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
					c := d.Stranger(harness.RecoveryOptions()...)
					held := harness.MustTry(t, c, "held")
					ctx, cancel := context.WithTimeout(context.Background(), 3*harness.RecoveryMaxTTL)
					dying := d.Mortal(at, harness.RecoveryOptions()...)
					err := harness.ChangeMembers(ctx, dying, change(d), nil)
					cancel()
					_ = dying.Close()
					harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
					harness.Must(t, harness.ChangeMembers(context.Background(), d.Stranger(harness.RecoveryOptions()...), change(d), nil))
					harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
					if !held.Valid() {
						t.Errorf("at message %d, %v: the hold was lost: %v", at, err, context.Cause(held.Context()))
					}
					harness.Must(t, held.Unlock(context.Background()))
				})
			}
		})
	}
}

// A client that sleeps through changes learns the newest version in one round: its next
// acquisition, and its next renewal, go on within the request timeout.
func TestAClientThatSleptThroughChanges(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		c, operator := d.Reached(redlock.WithRequestTimeout(250*time.Millisecond)), d.Reached()
		held := harness.MustTry(t, c, "held", redlock.WithoutWatchdog())
		harness.Settled(t, c) // with three of the five votes, of which one is suspended, it could not be renewed
		before := harness.Inside(c).Members.View().Number()
		for i := range 5 {
			change := harness.SuspendMember(d.Address(i % 2))
			if i%2 == 1 {
				change = harness.ResumeMember(d.Address((i - 1) % 2))
			}
			harness.Must(t, harness.ChangeMembers(context.Background(), operator, change, nil))
		}
		begin := time.Now()
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		harness.Must(t, held.Extend(context.Background(), 20*time.Second))
		if took := time.Since(begin); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if after := harness.Inside(c).Members.View(); after.Number() < before+5 || after.Version != harness.Inside(operator).Members.View().Version {
			t.Errorf("version %d, after %d", after.Number(), before)
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}

// An attempt that met a change is made again, and may find its own votes of before, which are not
// all given back yet: they are waited for. (Another's lock stands for them here.)
func TestOwnVotesOfBeforeAChangeAreWaitedFor(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		operator, c := d.Reached(), d.Reached()
		for _, change := range []membership.Change{harness.SuspendMember(d.Address(0)), harness.ResumeMember(d.Address(0))} {
			harness.Must(t, harness.ChangeMembers(context.Background(), operator, change, nil))
		}
		const gone = 200 * time.Millisecond
		for _, r := range d.Raw[:2] {
			harness.Must(t, r.Set(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock, "owner 1 7 ", gone).Err())
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

// An operator that dies when some members have accepted a version, and no majority, or before
// anybody knows that a majority has, leaves nothing that a caller waits for longer than the request
// timeout.
func TestAVersionThatIsNotKnownToBeCommitted(t *testing.T) {
	t.Parallel()
	for accepted := 1; accepted <= 5; accepted++ {
		t.Run(fmt.Sprint(accepted), func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
				c := d.Reached(redlock.WithRequestTimeout(500 * time.Millisecond))
				halfSuspend(d, c, accepted)
				begin := time.Now()
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
				if took := time.Since(begin); took > harness.Inside(c).RequestTimeout {
					t.Errorf("it took %v", took)
				}
				harness.Eventually(t, "all members are at one version", func() bool {
					harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
					one := d.Register(0)
					for i := range d.Masters {
						if is := d.Register(i); is["version"] != one["version"] || is["learned"] == "" {
							return false
						}
					}
					return true
				})
			})
		})
	}
}

// halfSuspend has the first masters accept, and nobody finish, that the first of five is suspended.
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

// A server that was a member before joins again under a new id, and gets the counters anew.
func TestAMemberThatLeftJoinsAnew(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], opts...), 0))
		c := harness.ClientOn(t, d.Raw, opts...)
		before := d.Register(2)["id"]
		harness.Must(t, harness.ChangeMembers(context.Background(), c, harness.ReplaceMember(d.Address(2), d.Address(3)), nil))
		var last fence.Token
		for range 10 {
			lock := harness.MustTry(t, c, "job")
			last = lock.Token()
			harness.Must(t, lock.Unlock(context.Background()))
		}
		harness.Must(t, harness.ChangeMembers(context.Background(), c, harness.ReplaceMember(d.Address(3), d.Address(2)), nil))
		is := d.Register(2)
		n, err := d.Raw[2].Get(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Fence).Uint64()
		if is["id"] == before || err != nil || fence.Token(n) < last {
			t.Errorf("id %s, it was %s; counter %d, the last token was %d", is["id"], before, n, last)
		}
	})
}

// The observer is told of the versions that are learned, and of what became of members.
func TestObserverOfMembers(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		operator := d.Reached()
		var told harness.Recorder
		c := d.Client(redlock.WithObserver(redlock.Observer{
			VersionLearned: func(table redlock.TableVersion) { told.Note("version %d", table.Version) },
			MemberChanged:  func(m redlock.MemberTransition) { told.Note("%s: %q to %q", m.Address, m.From, m.To) },
			NotAMember:     func(m redlock.MasterStatus) { told.Note("%s is out", m.Master) },
		}))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		first := harness.Inside(c).Members.View().Number()
		harness.Must(t, harness.ChangeMembers(context.Background(), operator, harness.SuspendMember(d.Address(0)), nil))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		then := harness.Inside(c).Members.View().Number()
		want := []string{
			fmt.Sprint("version ", first),
			fmt.Sprintf(`%s: "voting" to "suspended"`, d.Address(0)), fmt.Sprint("version ", then), d.Address(0) + " is out",
		}
		harness.Eventually(t, "all is told", func() bool {
			events := told.Events()
			return !slices.ContainsFunc(want, func(event string) bool { return !slices.Contains(events, event) })
		})
	})
}

// A removal waits until all is over that was granted before, and the smaller quorum that is left
// has the counters of a larger one.
func TestARemovalKeepsWhatAQuorumKnew(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} { // one of those that stay
		t.Run(fmt.Sprint("dead=", dead), func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
				c := d.Reached(harness.RecoveryOptions()...)
				held := harness.MustTry(t, c, "held")
				fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
				for _, i := range []int{0, 3} {
					harness.Must(t, d.Raw[i].Set(context.Background(), fence, 1_000_000, 0).Err())
				}
				staying := 3
				var told harness.Recorder
				ctx, cancel := context.WithTimeout(context.Background(), 3*harness.RecoveryMaxTTL)
				defer cancel()
				begin := time.Now()
				harness.Must(t, harness.ChangeMembers(ctx, c, harness.RemoveMember(d.Address(3)), func(what string) {
					told.Note("%s", what)
					if dead && staying == 3 && told.Count("it is removed in 3s") > 0 {
						d.Masters[1].Die()
						staying = 2
					}
				}))
				took, want := time.Since(begin), harness.RecoveryMaxTTL+time.Duration(limits.DefaultDrift*float64(harness.RecoveryMaxTTL))
				if took < want || took > want+2*time.Second {
					t.Errorf("it took %v, want %v and little more", took, want)
				}
				if told.Count("it is removed in 3s") == 0 {
					t.Errorf("progress tells %q", told.Events())
				}
				if got := members(d, c); got != "0 1 2" {
					t.Errorf("the members are %s", got)
				}
				high := 0
				for i := range 3 {
					if n, err := d.Raw[i].Get(context.Background(), fence).Int64(); err == nil && n >= 1_000_000 {
						high++
					}
				}
				if high != staying {
					t.Errorf("the counter is as high as it was on %d of those that stay, want %d", high, staying)
				}
				lock := harness.MustTry(t, c, "job")
				if lock.Token() <= 1_000_000 {
					t.Errorf("token %d", lock.Token())
				}
				harness.Must(t, lock.Unlock(context.Background()))
				if !dead { // two of four are no quorum
					harness.Must(t, held.Unlock(context.Background()))
				}
			})
		})
	}
}

// With fewer than a quorum of the counters of before, no member is removed: the smaller table has
// smaller quorums.
func TestARemovalNeedsTheCountersOfAQuorum(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		source string // what breaks the connection
		at     []int
	}{
		{"only one member tells its counters", script.CountersSource, []int{1, 2}},
		{"the counters of only one can be raised", script.SyncSource, []int{1}},
	} {
		t.Run(x.claim, func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				var cuts atomic.Bool
				for _, i := range x.at {
					d.Masters[i] = cutMaster{d.Masters[i], redis.NewScript(x.source).Hash(), &cuts}
				}
				c := d.Reached(harness.RecoveryOptions()...)
				cuts.Store(true)
				var told harness.Recorder
				ctx, cancel := context.WithTimeout(context.Background(), 3*harness.RecoveryMaxTTL)
				defer cancel()
				err := harness.ChangeMembers(ctx, c, harness.RemoveMember(d.Address(2)), func(what string) { told.Note("%s", what) })
				harness.RequireErr(t, err, context.DeadlineExceeded)
				harness.RequireSays(t, err, "the counters of 1 members can be", "and 2 are needed")
				if got := members(d, c); got != "0 1 (2)" {
					t.Errorf("the members are %s, after %q", got, told.Events())
				}
				cuts.Store(false)
				harness.Must(t, harness.ChangeMembers(context.Background(), c, harness.RemoveMember(d.Address(2)), nil))
				if got := members(d, c); got != "0 1" {
					t.Errorf("the members are %s", got)
				}
			})
		})
	}
}

// cutMaster is one whose connections break when this text is written to them.
type cutMaster struct {
	harness.Master
	text string
	cuts *atomic.Bool
}

func (m cutMaster) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return cutConn{conn, m} })
}

type cutConn struct {
	net.Conn
	master cutMaster
}

func (c cutConn) Write(p []byte) (int, error) {
	if c.master.cuts.Load() && strings.Contains(string(p), c.master.text) {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// Each change of the members is made, one after the other, and a member that lost its data is
// brought back, in little more than the quarantines take; a hold goes on meanwhile.
func TestTheLifeOfADeployment(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		d.Founded = true
		harness.Must(t, harness.Found(ctx, harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		c := d.Stranger(harness.RecoveryOptions()...)
		held, err := c.Lock(ctx, "held")
		harness.Must(t, err)
		var last fence.Token
		for _, step := range []struct {
			change membership.Change
			wait   bool // for a quarantine
			want   string
		}{
			{change: harness.AddMember(d.Address(3)), wait: true, want: "0 1 2 3"},
			{change: harness.AddMember(d.Address(3)), want: "0 1 2 3"},
			{change: harness.ReplaceMember(d.Address(2), d.Address(4)), wait: true, want: "0 1 4 3"},
			{change: harness.SuspendMember(d.Address(0)), want: "(0) 1 4 3"},
			{change: harness.ResumeMember(d.Address(0)), want: "0 1 4 3"},
			{change: harness.RemoveMember(d.Address(3)), wait: true, want: "0 1 4"},
			{change: harness.RemoveMember(d.Address(3)), want: "0 1 4"},
		} {
			begin := time.Now()
			harness.Must(t, harness.ChangeMembers(ctx, c, step.change, nil))
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
		harness.Eventually(t, "it votes again", func() bool { return members(d, c) == "0 1 4" })
		if took := time.Since(begin); took < harness.RecoveryMaxTTL || took > 2*harness.RecoveryMaxTTL {
			t.Errorf("it votes again after %v", took)
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}
