package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

func (d *deployment) address(i int) string { return d.raw[i].Options().Addr }

// Two services with different lists: whatever they are given, the members of the
// deployment decide. They never both hold, tokens never repeat, and each is told what is
// wrong with its list.
func TestDifferentListsOfMasters(t *testing.T) {
	t.Parallel()
	for claim, x := range map[string]struct {
		members, one, other []int   // of six servers
		works               [2]bool // one and other can lock
		says                func(d *deployment) []string
	}{
		"3 of 5, and all":        {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{0, 1, 2, 3, 4}, [2]bool{true, true}, nil},
		"1 2 3, and 3 4 5, of 5": {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}, []int{2, 3, 4}, [2]bool{true, true}, nil},
		"1 2 3, and 3 4 5, of 3": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{2, 3, 4}, [2]bool{true, false}, func(d *deployment) []string {
			return []string{d.address(3) + " refused: redlock: master is no voting member: it belongs to no deployment", "the client's masters lack: " + d.address(0) + ", " + d.address(1)}
		}},
		"a host that was replaced in one": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 1, 5}, [2]bool{true, true}, nil},
		"two hosts that were replaced in one": {[]int{0, 1, 2}, []int{0, 1, 2}, []int{0, 4, 5}, [2]bool{true, false}, func(d *deployment) []string {
			return []string{d.address(4) + " refused: redlock: master is no voting member: it belongs to no deployment", "the client's masters lack: " + d.address(1) + ", " + d.address(2)}
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 6, redisproc.Config{})
			pick := func(which []int) (servers []*redis.Client) {
				for _, i := range which {
					servers = append(servers, d.raw[i])
				}
				return servers
			}
			opts := recoveryOptions()
			must(t, clientOn(t, pick(x.members), opts...).found(background, 0))
			clients := []*Client{clientOn(t, pick(x.one), opts...), clientOn(t, pick(x.other), opts...)}
			var holders atomic.Int32
			var mu sync.Mutex
			var tokens []fence.Token
			var both sync.WaitGroup
			for i, c := range clients {
				both.Go(func() {
					wait := patience
					if !x.works[i] {
						wait = time.Second
					}
					for range 20 {
						lock, err := c.Lock(background, "job", WithWait(wait))
						if (err == nil) != x.works[i] {
							t.Errorf("client %d: %v", i, err)
							return
						}
						if err != nil {
							requireSaysAll(t, err, x.says(d))
							return
						}
						if holders.Add(1) > 1 {
							t.Error("two holders")
						}
						mu.Lock()
						tokens = append(tokens, lock.Token())
						mu.Unlock()
						holders.Add(-1)
						check(t, lock.Unlock(background))
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

func requireSaysAll(t *testing.T, err error, words []string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v\ndoes not say %q", err, word)
		}
	}
}

// A master of another deployment, or of another prefix's, does not vote, and says so.
func TestAMasterOfAnotherDeployment(t *testing.T) {
	t.Parallel()
	d := processes(t, 6, redisproc.Config{})
	opts := recoveryOptions()
	must(t, clientOn(t, d.raw[:3], opts...).found(background, 0))
	must(t, clientOn(t, d.raw[3:4], opts...).found(background, 0))
	must(t, clientOn(t, d.raw[4:5], recoveryOptions(WithPrefix("other"))...).found(background, 0))
	c := clientOn(t, []*redis.Client{d.raw[0], d.raw[1], d.raw[2], d.raw[4]}, opts...)
	var told recorder
	c.observer.NotAMember = func(m MasterStatus) { told.note("%s: %v", m.Master, m.Err) }
	must(t, mustTry(t, c, "job").Unlock(background))
	// Of a list that has some masters of another one, all clients choose the same.
	var both *Client
	for range 20 {
		c := clientOn(t, d.raw[:4], opts...)
		both = c
		must(t, mustTry(t, c, "job").Unlock(background))
		if len(c.members.View().Table.Members) != 3 {
			t.Fatalf("it went by %v", c.members.View())
		}
	}
	d.masters[0].die()
	d.masters[1].die()
	requireSaysAll(t, c.mustFail(t, "job"), []string{d.address(4) + " refused: redlock: master is no voting member: it belongs to no deployment"})
	requireSaysAll(t, both.mustFail(t, "job"), []string{d.address(3) + " refused: redlock: master is no voting member: it belongs to another deployment"})
	for _, i := range []int{0, 1} {
		d.masters[i].revive()
	}
	// Of two deployments neither is chosen before it is known which is meant.
	mixed := clientOn(t, []*redis.Client{d.raw[2], d.raw[3]}, opts...)
	requireSaysAll(t, mixed.mustFail(t, "job"), []string{"the masters belong to 2 deployments"})
}

// One server under two addresses has one vote.
func TestAServerThatIsGivenTwice(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	must(t, d.stranger(recoveryOptions()...).found(background, 0))
	alias := redis.NewClient(&redis.Options{Addr: "alias:6379", Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, d.address(0))
	}})
	t.Cleanup(func() { _ = alias.Close() })
	c := clientOn(t, []*redis.Client{d.raw[0], alias}, recoveryOptions()...)
	for range 10 {
		requireSaysAll(t, c.mustFail(t, "job"), []string{"it is the same server as", "the client's masters lack"})
	}
	if err := c.found(background, 0); err == nil {
		t.Error("one server was founded twice")
	}
	requireSaysAll(t, clientOn(t, []*redis.Client{d.raw[0], alias}, recoveryOptions(WithPrefix("new"))...).found(background, 0), []string{"the same server"})

	// That localhost is 127.0.0.1 is known before anybody is asked.
	_, err := Open([]string{"redis://localhost", "redis://127.0.0.1:6379", "redis://redis", "redis://REDIS."})
	requireErr(t, err, ErrBadOption)
	requireSaysAll(t, err, []string{"masters[1]", "127.0.0.1:6379", "must not be the same server as masters[0]", "masters[3]", "must not be the same server as masters[2]"})
}

// aliasMaster is a master under another address.
type aliasMaster struct{ testMaster }

func (m aliasMaster) options() *redis.Options {
	o := *m.testMaster.options()
	o.Addr = "alias:6379"
	return &o
}

// One server under two addresses is one member too when a new member gets the counters of a quorum, and is let vote.
func TestAServerThatIsGivenTwiceIsNoQuorumOfCounters(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		v := c.members.View()
		must(t, c.Close())
		register := script.RegisterKey(limits.DefaultPrefix)
		ballot, table := "0000000099.00000000-0000-4000-8000-000000000000", d.register(0)["table"]
		last := strings.LastIndex(table, `"voting"`)
		table = table[:last] + `"new"` + table[last+len(`"voting"`):]
		for i, m := range v.Table.Members {
			for _, source := range []string{script.AcceptSource, script.LearnSource} {
				must(t, d.raw[i].Eval(background, source, []string{register}, m.ID, ballot, table, v.Deployment).Err())
			}
		}
		must(t, d.raw[2].HDel(background, register, "synced").Err()) // init gave it those of the others
		d.masters[1].die()
		d.masters[1] = aliasMaster{d.masters[0]}
		twice := d.stranger(recoveryOptions()...)
		for end := time.Now().Add(2 * v.Table.Quarantine()); time.Now().Before(end); time.Sleep(v.Table.Quarantine() / 10) {
			requireErr(t, twice.mustFail(t, "job"), ErrNoQuorum, ErrNotMember)
			if is := d.register(2); is["synced"] != "" || is["votes"] != "" {
				t.Fatalf("it has the counters of one member, and not of a quorum: %v", is)
			}
		}
	})
}

// A client whose settings do not fit the deployment is told what would be right.
func TestSettingsOfTheDeployment(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		must(t, d.stranger(WithMaxTTL(time.Minute), WithDrift(0.02)).found(background, 0))
		for field, c := range map[string]*Client{
			"max ttl": d.stranger(WithMaxTTL(2 * time.Minute)),
			"drift":   d.stranger(WithDrift(0.01)),
		} {
			_, err := c.TryLock(background, "job")
			requireOptionError(t, err, field)
			_, err = c.Lock(background, "job")
			requireOptionError(t, err, field)
		}
		for _, c := range []*Client{d.stranger(), d.stranger(WithMaxTTL(40 * time.Second)), d.stranger(WithDrift(0.02)), d.stranger(WithDrift(0.5))} {
			must(t, mustTry(t, c, "job").Unlock(background))
		}
		small := d.stranger(WithPrefix("small"), WithMaxTTL(10*time.Second))
		must(t, small.found(background, 0))
		_, err := d.stranger(WithPrefix("small")).TryLock(background, "job", WithTTL(30*time.Second))
		requireOptionError(t, err, "ttl")
		_, err = d.stranger(WithPrefix("small")).TryLock(background, "job", WithTTL(6*time.Second), WithLockDelay(5*time.Second))
		requireOptionError(t, err, "ttl")
		mustTry(t, d.stranger(WithPrefix("small")), "delayed", WithLockDelay(5*time.Second)) // the default leaves room for it
		lock := mustTry(t, d.stranger(WithPrefix("small")), "job")                           // the default fits
		requireOptionError(t, lock.Extend(background, 20*time.Second), "ttl")
		must(t, lock.Unlock(background))
	})
}

// crowd is clients that lock names of their own and a common one, renew, and look whether
// all that is promised is kept.
type crowd struct {
	t       *testing.T
	lack    bool // a member may come that is none of the clients' masters
	stop    chan struct{}
	all     sync.WaitGroup
	holders atomic.Int32
	mu      sync.Mutex
	last    fence.Token
	slowest atomic.Int64
	done    atomic.Int64
	held    []*Lock
}

// newCrowd starts workers on each of the clients. Each client holds a lock, renewed all the
// time.
func newCrowd(t *testing.T, workers int, lack bool, clients ...*Client) *crowd {
	w := &crowd{t: t, lack: lack, stop: make(chan struct{})}
	for i, c := range clients {
		w.held = append(w.held, mustTry(t, c, fmt.Sprintf("held %p %d", w, i)))
		for n := range workers {
			w.all.Go(func() { w.work(c, fmt.Sprintf("own %p %d %d", w, i, n), n == 0) })
		}
	}
	return w
}

func (w *crowd) work(c *Client, name string, common bool) {
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		begin := time.Now()
		lock, err := c.TryLock(background, name)
		if err != nil {
			w.t.Errorf("%s: %v", name, err)
			return
		}
		w.slowest.Store(max(w.slowest.Load(), int64(time.Since(begin))))
		w.done.Add(1)
		check(w.t, lock.Unlock(background))
		if !common {
			continue
		}
		lock, err = c.Lock(background, fmt.Sprintf("common %p", w), WithWait(patience))
		if err != nil {
			w.t.Errorf("common: %v", err)
			return
		}
		if w.holders.Add(1) > 1 && lock.Valid() {
			w.t.Error("two holders")
		}
		w.mu.Lock()
		if lock.Token() <= w.last {
			w.t.Errorf("token %d after %d", lock.Token(), w.last)
		}
		w.last = lock.Token()
		w.mu.Unlock()
		w.holders.Add(-1)
		// A client that lacks one of three members needs both others. Where the hold was never had, because
		// a rival is asking there, a release is no vote.
		if err := lock.Unlock(background); !w.lack || !errors.Is(err, ErrNoQuorum) {
			check(w.t, err)
		}
	}
}

// end stops the workers, and reports what they found.
func (w *crowd) end() {
	w.t.Helper()
	close(w.stop)
	w.all.Wait()
	for _, lock := range w.held {
		if cause := context.Cause(lock.Context()); cause != nil {
			w.t.Errorf("%v was lost: %v", lock, cause)
		}
		check(w.t, lock.Unlock(background))
	}
	w.t.Logf("%d acquisitions, the slowest took %v", w.done.Load(), time.Duration(w.slowest.Load()))
}

// Members are replaced, added, suspended, resumed and removed while clients lock and renew:
// nothing that is promised fails, no hold is lost, and no acquisition fails.
func TestMembersChangeUnderLoad(t *testing.T) { // not beside others: 64 clients need the machine
	if testing.Short() {
		t.Skip("NOT RUN with -short: 64 clients while the members change")
	}
	d := processes(t, 6, redisproc.Config{})
	const timeout = 3 * time.Second // 64 clients in one process may keep a small machine from answering for long
	opts := []Option{WithMaxTTL(8 * time.Second), WithTTL(7 * time.Second), WithRequestTimeout(timeout)}
	must(t, clientOn(t, d.raw[:3], opts...).found(background, 0))
	operator := clientOn(t, d.raw, opts...)
	clients := func(n int, servers []*redis.Client) (all []*Client) {
		for range n {
			all = append(all, clientOn(t, servers, opts...))
		}
		return all
	}
	w := newCrowd(t, 1, false, clients(48, d.raw)...)
	old := newCrowd(t, 1, true, clients(16, d.raw[:3])...) // as long as a majority of its masters are members
	for _, step := range []struct {
		change membership.Change
		want   string
	}{
		{replaceMember(d.address(2), d.address(3)), "0 1 3"},
		{suspendMember(d.address(3)), "0 1 (3)"},
		{resumeMember(d.address(3)), "0 1 3"},
		{addMember(d.address(4)), "0 1 3 4"},
		{addMember(d.address(2)), "0 1 3 4 2"},
		{removeMember(d.address(4)), "0 1 3 2"},
		{removeMember(d.address(3)), "0 1 2"},
	} {
		if step.want == "0 1 3 4" {
			old.end()
		}
		before := w.done.Load()
		w.slowest.Store(0)
		begin := time.Now()
		must(t, operator.changeMembers(background, step.change, nil))
		took := time.Since(begin)
		if got := d.members(operator); got != step.want {
			t.Errorf("%+v: the members are %s, want %s", step.change, got, step.want)
		}
		eventually(t, "the load goes on", func() bool { return w.done.Load() > before+64 || t.Failed() })
		slowest := time.Duration(w.slowest.Load())
		t.Logf("%+v took %v; the slowest of %d acquisitions %v", step.change, took, w.done.Load()-before, slowest)
		if slowest > timeout {
			t.Errorf("an acquisition took %v, which is more than the request timeout", slowest)
		}
	}
	w.end()
}

// members tells who they are, by the place of their servers; those that do not vote in
// parentheses.
func (d *deployment) members(c *Client) string {
	var all []string
	for _, is := range c.described(d.t).Members {
		i := slices.IndexFunc(d.raw, func(r *redis.Client) bool { return r.Options().Addr == is.Address })
		text := fmt.Sprint(i)
		if is.State != membership.Voting {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// A change whose operator dies at any message is finished when it is made again; meanwhile
// locks are had and kept.
func TestAnOperatorThatDies(t *testing.T) {
	t.Parallel()
	for first, x := range []struct {
		name   string
		change func(d *deployment) membership.Change
	}{
		{"replace", func(d *deployment) membership.Change { return replaceMember(d.address(2), d.address(3)) }},
		{"add", func(d *deployment) membership.Change { return addMember(d.address(3)) }},
		{"suspend", func(d *deployment) membership.Change { return suspendMember(d.address(2)) }},
		{"remove", func(d *deployment) membership.Change { return removeMember(d.address(2)) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			change := x.change
			for at := 8 + 3*first; at < 80; at += 12 {
				inVirtualTime(t, 4, func(t *testing.T, d *deployment) {
					d.founded = true
					must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).found(background, 0))
					c := d.stranger(recoveryOptions()...)
					held := mustTry(t, c, "held")
					ctx, cancel := context.WithTimeout(background, 3*recoveryMaxTTL)
					dying := d.mortal(at, recoveryOptions()...)
					err := dying.changeMembers(ctx, change(d), nil)
					cancel()
					_ = dying.Close()
					must(t, mustTry(t, c, "job").Unlock(background))
					must(t, d.stranger(recoveryOptions()...).changeMembers(background, change(d), nil))
					must(t, mustTry(t, c, "job").Unlock(background))
					if !held.Valid() {
						t.Errorf("at message %d, %v: the hold was lost: %v", at, err, context.Cause(held.Context()))
					}
					must(t, held.Unlock(background))
				})
			}
		})
	}
}

// Two operators at once: both changes are made, one after the other.
func TestTwoOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	d := processes(t, 6, redisproc.Config{})
	opts := recoveryOptions()
	must(t, clientOn(t, d.raw[:3], opts...).found(background, 0))
	w := newCrowd(t, 4, false, clientOn(t, d.raw, opts...))
	var both sync.WaitGroup
	for _, change := range []membership.Change{addMember(d.address(3)), addMember(d.address(4))} {
		both.Go(func() { check(t, clientOn(t, d.raw, opts...).changeMembers(background, change, nil)) })
	}
	both.Wait()
	m := clientOn(t, d.raw, opts...).described(t).Members
	if len(m) != 5 || slices.ContainsFunc(m, func(is membership.MemberDescription) bool { return is.State != membership.Voting }) {
		t.Errorf("%+v", m)
	}
	w.end()
}

// inTime adds the deployment's clock to options.
func (d *deployment) inTime(opts ...Option) []Option {
	return append([]Option{clientOption(func(c *config) { c.now = d.now })}, opts...)
}

// A client that sleeps through changes learns the newest version in one round: its next
// acquisition, and its next renewal, go on within the request timeout.
func TestAClientThatSleptThroughChanges(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c, operator := d.reached(WithRequestTimeout(250*time.Millisecond)), d.reached()
		held := mustTry(t, c, "held", WithoutWatchdog())
		settled(t, c) // with three of the five votes, of which one is suspended, it could not be renewed
		before := c.members.View().Number()
		for i := range 5 {
			change := suspendMember(d.address(i % 2))
			if i%2 == 1 {
				change = resumeMember(d.address((i - 1) % 2))
			}
			must(t, operator.changeMembers(background, change, nil))
		}
		begin := time.Now()
		must(t, mustTry(t, c, "job").Unlock(background))
		must(t, held.Extend(background, 20*time.Second))
		if took := time.Since(begin); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if after := c.members.View(); after.Number() < before+5 || after.Version != operator.members.View().Version {
			t.Errorf("version %d, after %d", after.Number(), before)
		}
		must(t, held.Unlock(background))
	})
}

// Only masters that vote call anybody who waits: whose subscriptions stand beside theirs is not counted, and those of
// the members are enough.
func TestCallsOfMastersWithoutAVote(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		whole, raw := d.masters, d.raw
		d.masters, d.raw = whole[:3], raw[:3]
		operator := d.reached()
		d.masters, d.raw = whole, raw
		held := []*Lock{mustTry(t, operator, "job"), mustTry(t, operator, "other")}
		c := d.stranger() // two of its five masters are no members
		goLock(t, c, "job")
		reaches := func(want bool, when string) {
			t.Helper()
			time.Sleep(time.Second) // until subscriptions stand, or are known to be broken
			synctest.Wait()
			if got := c.notices.Reach().Quorum; got != want {
				t.Errorf("%s: a quorum can call: %v", when, got)
			}
		}
		reaches(true, "all members vote")
		d.masters[0].die()
		reaches(true, "one of three is dead")
		goLock(t, c, "other")
		synctest.Wait()
		if !c.tickets.Next(c.now()).Known() {
			t.Error("the times of two of three members are not enough for a ticket")
		}
		d.masters[0].revive()
		reaches(true, "it is back")
		must(t, operator.changeMembers(background, suspendMember(d.address(2)), nil))
		reaches(true, "two vote, and one is suspended")
		d.masters[1].die()
		reaches(false, "one votes, one is suspended, and one is dead")
		if got := c.notices.Quorum(); got != 1 {
			t.Errorf("a waiter asks when %d masters call, and one can", got)
		}
		d.masters[1].revive()
		reaches(true, "two vote again")
		unlockAll(t, held...)
	})
}

// An attempt that met a change is made again, and may find its own votes of before, which are not all given back yet: they are
// waited for. (Another's lock stands for them here.)
func TestOwnVotesOfBeforeAChangeAreWaitedFor(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		operator, c := d.reached(), d.reached()
		for _, change := range []membership.Change{suspendMember(d.address(0)), resumeMember(d.address(0))} {
			must(t, operator.changeMembers(background, change, nil))
		}
		const gone = 200 * time.Millisecond
		for _, r := range d.raw[:2] {
			must(t, r.Set(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock, "owner 1 7 ", gone).Err())
		}
		begin := time.Now()
		lock := mustTry(t, c, "job")
		if took := time.Since(begin); took < gone {
			t.Errorf("locked after %v, beside another", took)
		}
		must(t, lock.Unlock(background))
		must(t, mustTry(t, operator, "job").Unlock(background))
	})
}

// A renewal that meets a new version goes on at once, not with the next one.
func TestARenewalThatMeetsANewVersion(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		operator := d.reached()
		var renewed []time.Time
		var mu sync.Mutex
		c := d.client(WithObserver(Observer{Renewed: func(context.Context, Renewal) {
			mu.Lock()
			defer mu.Unlock()
			renewed = append(renewed, time.Now())
		}}))
		lock := mustTry(t, c, "job", WithTTL(30*time.Second))
		begin := time.Now()
		for _, change := range []membership.Change{suspendMember(d.address(0)), resumeMember(d.address(0)), suspendMember(d.address(1))} {
			must(t, operator.changeMembers(background, change, nil))
		}
		time.Sleep(time.Until(begin.Add(10*time.Second + c.requestTimeout)))
		mu.Lock()
		defer mu.Unlock()
		if len(renewed) != 1 || c.members.View().Version != operator.members.View().Version {
			t.Errorf("it was renewed at %v, it was due 10 s after %v", renewed, begin)
		}
		must(t, lock.Unlock(background))
	})
}

// A call that some masters refused because they had not learned the version asks them again soon.
// It does not wait until all is settled among the members, with a master that hangs, say.
func TestWhoHadNotLearnedTheVersionIsAskedAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		v := c.members.View()
		outdated := &QuorumError{Reason: ErrNoQuorum, Votes: []Vote{{Err: script.ErrVersion}}}
		ended, cancel := context.WithCancel(background)
		cancel()
		if c.members.Settled(background, v, time.Second) == nil {
			t.Fatal("the members are not settled")
		}
		if c.newerView(background, outdated, v, c.now().Add(time.Second)) == nil {
			t.Error("it is not asked again, though all is settled")
		}
		d.masters[2].freeze()
		for _, x := range []struct {
			claim string
			ctx   context.Context
			left  time.Duration
			again bool
			after time.Duration
		}{
			{"there is time", background, time.Second, true, learnPatience},
			{"its time is over before", background, learnPatience - 1, false, learnPatience - 1},
			{"there is no time", background, 0, false, 0},
			{"its context has ended", ended, time.Second, false, 0},
		} {
			c.members.Kick() // it looks at the master that hangs, for longer than learnPatience
			began := time.Now()
			now := c.newerView(x.ctx, outdated, v, c.now().Add(x.left))
			if took := time.Since(began); (now != nil) != x.again || took != x.after {
				t.Errorf("%s: asked again: %v, after %v; want %v, %v", x.claim, now != nil, took, x.again, x.after)
			}
		}
		d.masters[2].thaw()
	})
}

// An operator that dies when some members have accepted a version, and no majority, or
// before anybody knows that a majority has, leaves nothing that a caller waits for longer
// than the request timeout.
func TestAVersionThatIsNotKnownToBeCommitted(t *testing.T) {
	t.Parallel()
	for accepted := 1; accepted <= 5; accepted++ {
		t.Run(fmt.Sprint(accepted), func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
				c := d.reached(WithRequestTimeout(500 * time.Millisecond))
				d.halfSuspend(c, accepted)
				begin := time.Now()
				must(t, mustTry(t, c, "job").Unlock(background))
				if took := time.Since(begin); took > c.requestTimeout {
					t.Errorf("it took %v", took)
				}
				eventually(t, "all members are at one version", func() bool {
					must(t, mustTry(t, c, "job").Unlock(background))
					one := d.register(0)
					for i := range d.masters {
						if is := d.register(i); is["version"] != one["version"] || is["learned"] == "" {
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
func (d *deployment) halfSuspend(c *Client, accepted int) {
	v := c.members.View()
	table := strings.Replace(d.register(0)["table"], `"voting"`, `"suspended"`, 1)
	table = strings.Replace(table, `"prev":`, `"before":`, 1)
	table = strings.TrimSuffix(table, "}") + `,"prev":[` + quoted(v.Table.Members[0].ID, v.Table.Members[1].ID, v.Table.Members[2].ID, v.Table.Members[3].ID, v.Table.Members[4].ID) + `]}`
	ballot := "0000000099.00000000-0000-4000-8000-000000000000"
	for i := range accepted {
		must(d.t, redis.NewScript(script.AcceptSource).Run(background, d.raw[i], []string{script.RegisterKey(limits.DefaultPrefix)}, v.Table.Members[i].ID, ballot, table, v.Deployment).Err())
	}
}

func quoted(words ...string) string { return `"` + strings.Join(words, `","`) + `"` }

// A server that was a member before joins again under a new id, and gets the counters anew.
func TestAMemberThatLeftJoinsAnew(t *testing.T) {
	t.Parallel()
	d := processes(t, 4, redisproc.Config{})
	opts := recoveryOptions()
	must(t, clientOn(t, d.raw[:3], opts...).found(background, 0))
	c := clientOn(t, d.raw, opts...)
	before := d.register(2)["id"]
	must(t, c.changeMembers(background, replaceMember(d.address(2), d.address(3)), nil))
	var last fence.Token
	for range 10 {
		lock := mustTry(t, c, "job")
		last = lock.Token()
		must(t, lock.Unlock(background))
	}
	must(t, c.changeMembers(background, replaceMember(d.address(3), d.address(2)), nil))
	is := d.register(2)
	n, err := d.raw[2].Get(background, script.KeysOf(limits.DefaultPrefix, "job", "").Fence).Uint64()
	if is["id"] == before || err != nil || fence.Token(n) < last {
		t.Errorf("id %s, it was %s; counter %d, the last token was %d", is["id"], before, n, last)
	}
}

// The observer is told of the versions that are learned, and of what became of members.
func TestObserverOfMembers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		operator := d.reached()
		var told recorder
		c := d.client(WithObserver(Observer{
			VersionLearned: func(table TableVersion) { told.note("version %d", table.Version) },
			MemberChanged:  func(m MemberTransition) { told.note("%s: %q to %q", m.Address, m.From, m.To) },
			NotAMember:     func(m MasterStatus) { told.note("%s is out", m.Master) },
		}))
		must(t, mustTry(t, c, "job").Unlock(background))
		first := c.members.View().Number()
		must(t, operator.changeMembers(background, suspendMember(d.address(0)), nil))
		must(t, mustTry(t, c, "job").Unlock(background))
		then := c.members.View().Number()
		want := []string{
			fmt.Sprint("version ", first),
			fmt.Sprintf(`%s: "voting" to "suspended"`, d.address(0)), fmt.Sprint("version ", then), d.address(0) + " is out",
		}
		eventually(t, "all is told", func() bool {
			told.mu.Lock()
			defer told.mu.Unlock()
			for _, event := range want {
				if !slices.Contains(told.events, event) {
					return false
				}
			}
			return true
		})
	})
}

// A removal waits until all is over that was granted before, and the smaller quorum that is
// left has the counters of a larger one.
func TestARemovalKeepsWhatAQuorumKnew(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} { // one of those that stay
		t.Run(fmt.Sprint("dead=", dead), func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 4, func(t *testing.T, d *deployment) {
				c := d.reached(recoveryOptions()...)
				held := mustTry(t, c, "held")
				fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
				for _, i := range []int{0, 3} {
					must(t, d.raw[i].Set(background, fence, 1_000_000, 0).Err())
				}
				staying := 3
				var told recorder
				ctx, cancel := context.WithTimeout(background, 3*recoveryMaxTTL)
				defer cancel()
				begin := time.Now()
				must(t, c.changeMembers(ctx, removeMember(d.address(3)), func(what string) {
					told.note("%s", what)
					if dead && staying == 3 && told.count("it is removed in 3s") > 0 {
						d.masters[1].die()
						staying = 2
					}
				}))
				took, want := time.Since(begin), recoveryMaxTTL+time.Duration(limits.DefaultDrift*float64(recoveryMaxTTL))
				if took < want || took > want+2*time.Second {
					t.Errorf("it took %v, want %v and little more", took, want)
				}
				if told.count("it is removed in 3s") == 0 {
					t.Errorf("progress tells %q", told.events)
				}
				if got := d.members(c); got != "0 1 2" {
					t.Errorf("the members are %s", got)
				}
				high := 0
				for i := range 3 {
					if n, err := d.raw[i].Get(background, fence).Int64(); err == nil && n >= 1_000_000 {
						high++
					}
				}
				if high != staying {
					t.Errorf("the counter is as high as it was on %d of those that stay, want %d", high, staying)
				}
				lock := mustTry(t, c, "job")
				if lock.Token() <= 1_000_000 {
					t.Errorf("token %d", lock.Token())
				}
				must(t, lock.Unlock(background))
				if !dead { // two of four are no quorum
					must(t, held.Unlock(background))
				}
			})
		})
	}
}

// With fewer than a quorum of the counters of before, no member is removed: the smaller table has smaller quorums.
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
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				var cuts atomic.Bool
				for _, i := range x.at {
					d.masters[i] = cutMaster{d.masters[i], redis.NewScript(x.source).Hash(), &cuts}
				}
				c := d.reached(recoveryOptions()...)
				cuts.Store(true)
				var told recorder
				ctx, cancel := context.WithTimeout(background, 3*recoveryMaxTTL)
				defer cancel()
				err := c.changeMembers(ctx, removeMember(d.address(2)), func(what string) { told.note("%s", what) })
				requireErr(t, err, context.DeadlineExceeded)
				requireSaysAll(t, err, []string{"the counters of 1 members can be", "and 2 are needed"})
				if got := d.members(c); got != "0 1 (2)" {
					t.Errorf("the members are %s, after %q", got, told.events)
				}
				cuts.Store(false)
				must(t, c.changeMembers(background, removeMember(d.address(2)), nil))
				if got := d.members(c); got != "0 1" {
					t.Errorf("the members are %s", got)
				}
			})
		})
	}
}

// cutMaster is one whose connections break when this text is written to them.
type cutMaster struct {
	testMaster
	text string
	cuts *atomic.Bool
}

func (m cutMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return cutConn{conn, m} })
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
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		ctx, cancel := context.WithTimeout(background, 30*time.Second)
		defer cancel()
		d.founded = true
		must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).found(ctx, 0))
		c := d.stranger(recoveryOptions()...)
		held, err := c.Lock(ctx, "held")
		must(t, err)
		var last fence.Token
		for _, step := range []struct {
			change membership.Change
			wait   bool // for a quarantine
			want   string
		}{
			{change: addMember(d.address(3)), wait: true, want: "0 1 2 3"},
			{change: addMember(d.address(3)), want: "0 1 2 3"},
			{change: replaceMember(d.address(2), d.address(4)), wait: true, want: "0 1 4 3"},
			{change: suspendMember(d.address(0)), want: "(0) 1 4 3"},
			{change: resumeMember(d.address(0)), want: "0 1 4 3"},
			{change: removeMember(d.address(3)), wait: true, want: "0 1 4"},
			{change: removeMember(d.address(3)), want: "0 1 4"},
		} {
			begin := time.Now()
			must(t, c.changeMembers(ctx, step.change, nil))
			took := time.Since(begin)
			if least := recoveryMaxTTL; step.wait != (took >= least) || took > least+2*time.Second {
				t.Errorf("%+v took %v", step.change, took)
			}
			if got := d.members(c); got != step.want {
				t.Errorf("%+v: the members are %s, want %s", step.change, got, step.want)
			}
			lock, err := c.Lock(ctx, "job")
			must(t, err)
			if lock.Token() <= last {
				t.Errorf("%+v: token %d after %d", step.change, lock.Token(), last)
			}
			last = lock.Token()
			must(t, lock.Unlock(background))
		}
		lost := d.masters[1].(embeddedMaster)
		lost.Kill(true)
		lost.revive()
		begin := time.Now()
		eventually(t, "the one that lost its data is new", func() bool {
			_ = mustTry(t, c, "job").Unlock(background)
			return d.members(c) == "0 (1) 4"
		})
		eventually(t, "it votes again", func() bool { return d.members(c) == "0 1 4" })
		if took := time.Since(begin); took < recoveryMaxTTL || took > 2*recoveryMaxTTL {
			t.Errorf("it votes again after %v", took)
		}
		must(t, held.Unlock(background))
	})
}

// Whether a call whose context ends before it is known who votes was to acquire, its error tells.
func TestAContextThatEndsBeforeTheMembersAreKnown(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		d.client() // founds them, and so knows
		c := d.client()
		for _, m := range d.masters {
			m.freeze()
		}
		for op, call := range map[string]func(context.Context) error{
			"TryLock":    func(ctx context.Context) error { _, err := c.TryLock(ctx, "job"); return err },
			"TryRLock":   func(ctx context.Context) error { _, err := c.TryRLock(ctx, "job"); return err },
			"TryLockAll": func(ctx context.Context) error { _, err := c.TryLockAll(ctx, []string{"a", "b"}); return err },
			"Lock":       func(ctx context.Context) error { _, err := c.Lock(ctx, "job"); return err },
			"Verify":     func(ctx context.Context) error { _, err := c.Verify(ctx, "job", 7); return err },
		} {
			ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
			err := call(ctx)
			cancel()
			if acquires := op != "Verify"; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotAcquired) != acquires {
				t.Errorf("%s: %v; is it ErrNotAcquired: %v", op, err, errors.Is(err, ErrNotAcquired))
			}
		}
		for _, m := range d.masters {
			m.thaw()
		}
	})
}
