package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

func wokenByARelease(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	var took time.Duration
	for range 3 {
		held := mustTry(t, a, "job")
		got := goLock(t, b, "job")
		d.inLine("job", 1)
		start := time.Now()
		must(t, held.Unlock(background))
		lock := have(t, got)
		once := time.Since(start)
		if once > d.either(askInterval/4, askInterval) {
			t.Errorf("had it %v after the release", once)
		}
		took += once
		must(t, lock.Unlock(background))
	}
	if took > 3*askInterval/4 {
		t.Errorf("had it three times, %v after the releases in all: who asks by itself has it after %v each", took, askInterval)
	}
}

func wokenByTheEndOfALease(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	asked := time.Now()
	held := mustTry(t, a, "job", WithTTL(2*time.Second), WithoutWatchdog())
	start := time.Now()
	got := goLock(t, b, "job")
	lock := have(t, got)
	if least, most := time.Since(asked), time.Since(start); least < 1900*time.Millisecond || most > 2*time.Second+d.either(askInterval/4, askInterval) {
		t.Errorf("had it %v to %v after a lease of 2 s began", most, least)
	}
	must(t, lock.Unlock(background))
	requireErr(t, held.Unlock(background), ErrExpired)
}

func servedInOrderAcrossClients(t *testing.T, d *deployment) {
	d.reached()
	for _, opts := range [][]LockOption{nil, {WithFair()}} {
		holder := d.client()
		held := mustTry(t, holder, "job")
		var mu sync.Mutex
		var order []int
		var tickets [6]float64
		var all sync.WaitGroup
		for i := range tickets {
			c := d.client()
			all.Go(func() {
				lock, err := c.Lock(background, "job", opts...)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				check(t, lock.Unlock(background))
			})
			tickets[i] = d.ticketOf(c, "job")
			time.Sleep(time.Millisecond) // or the next one's ticket might be the same
		}
		must(t, held.Unlock(background))
		all.Wait()
		want := []int{0, 1, 2, 3, 4, 5}
		if !d.virtual { // a client knows the time only to within what the masters took to tell it
			slices.SortFunc(want, func(a, b int) int { return cmp.Compare(tickets[a], tickets[b]) })
		}
		if !slices.Equal(order, want) {
			t.Errorf("%d options: served in order %v, want %v", len(opts), order, want)
		}
	}
}

// aGoneWaiterIsPassedOver: one whose connection is gone at once, one that hears
// and does not come (a process that was stopped) when its time is up.
func aGoneWaiterIsPassedOver(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for _, x := range []struct {
		ghost  string
		within time.Duration
	}{{"nobody hears this", d.either(askInterval/4, 3*askInterval/4)}, {"heard, by nobody who comes", 2 * askInterval}} {
		held := mustTry(t, a, "job")
		got := goLock(t, b, "job", WithFair())
		d.inLine("job", 1)
		for _, r := range d.raw {
			if x.ghost[0] == 'h' {
				sub := r.Subscribe(background, x.ghost)
				t.Cleanup(func() { _ = sub.Close() })
				_, err := sub.Receive(background)
				must(t, err)
			}
			must(t, r.ZAdd(background, k.Queue, redis.Z{Score: 1, Member: x.ghost}).Err())
		}
		start := time.Now()
		must(t, held.Unlock(background))
		lock := have(t, got)
		if took := time.Since(start); took > x.within {
			t.Errorf("%s: the next one had it after %v", x.ghost, took)
		}
		must(t, lock.Unlock(background))
	}
}

func aWaiterThatGivesUpLeaves(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	held := mustTry(t, a, "job")
	ctx, cancel := context.WithCancel(background)
	gaveUp := make(chan error, 1)
	go func() {
		_, err := b.Lock(ctx, "job")
		gaveUp <- err
	}()
	d.inLine("job", 1)
	settled(t, b) // it knows that the lock is held
	start := time.Now()
	cancel()
	requireErr(t, <-gaveUp, context.Canceled, ErrHeld)
	if took := time.Since(start); took > d.request() {
		t.Errorf("it took %v to leave", took)
	}
	d.inLine("job", 0)
	must(t, held.Unlock(background))
	eventually(t, "kept for nobody", func() bool { return !strings.Contains(d.holders("job"), "1") })
}

// A master that was down when a waiter gave up hears of it when it is back: the lock
// that is free there is not kept for one who does not come.
func aWaiterThatGivesUpInAnOutageLeaves(t *testing.T, d *deployment) {
	a, b, c := d.reached(), d.client(), d.reached()
	held := mustTry(t, a, "job", WithTTL(d.ttl()), WithoutWatchdog())
	ctx, giveUp := context.WithCancel(background)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := b.Lock(ctx, "job"); !errors.Is(err, context.Canceled) {
			t.Errorf("Lock = %v, want context.Canceled", err)
		}
	}()
	d.inLine("job", 1)
	d.masters[1].die()
	d.masters[2].die()
	giveUp()
	<-gone
	<-held.Context().Done() // whose release would make room in the line
	back := time.Now()
	d.masters[1].revive()
	d.masters[2].revive()
	d.inLine("job", 0)
	if took := time.Since(back); took > maxAskInterval {
		t.Errorf("it stood in line for %v, want less than %v", took, maxAskInterval)
	}
	eventually(t, "the end of the lease", func() bool { return d.holders("job") == "000" })
	must(t, mustTry(t, c, "job").Unlock(background))
}

func oneClientKeepsANameForSoLong(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	ctx, cancel := context.WithCancel(background)
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				lock, err := a.Lock(background, "job")
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				check(t, lock.Unlock(background))
			}
		})
	}
	eventually(t, "busy", func() bool { return a.queues.Waiting("job") >= 2 })
	warm := have(t, goLock(t, b, "job")) // subscribes
	must(t, warm.Unlock(background))
	slack := d.either(time.Millisecond, time.Second)
	for range 10 {
		start := time.Now()
		lock := have(t, goLock(t, b, "job"))
		if took := time.Since(start); took > 2*keepFor+slack {
			t.Errorf("a client with four busy callers let the other in after %v", took)
		}
		must(t, lock.Unlock(background))
	}
	cancel()
	busy.Wait()
}

// aFreeMasterMisleadsNobody: one that the holder does not have calls the waiter
// again and again, in vain; the others' call must not be missed for that.
func aFreeMasterMisleadsNobody(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	held := d.either(25*time.Second, time.Second)
	lock := mustTry(t, a, "job", WithTTL(29*time.Second), WithoutWatchdog())
	d.drop(a, "job", 4)
	got := goLock(t, b, "job")
	time.Sleep(held)
	start := time.Now()
	must(t, lock.Unlock(background))
	lock = have(t, got)
	if took := time.Since(start); took > 2*askInterval {
		t.Errorf("had it %v after the release", took)
	}
	must(t, lock.Unlock(background))
}

// aRepairComesBeforeACall: what is kept for one who waits belongs to nobody, and
// must not keep a holder from getting back what it lost.
func aRepairComesBeforeACall(t *testing.T, d *deployment) {
	c := d.reached()
	lock := mustTry(t, c, "job")
	d.drop(c, "job", 0)
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	must(t, d.raw[0].Set(background, k.Lock, " somebody", 0).Err())
	must(t, lock.Extend(background, limits.DefaultTTL)) // finds out
	settled(t, c)
	must(t, lock.Extend(background, limits.DefaultTTL)) // repairs
	eventually(t, "it is the holder's again", func() bool {
		return lockOn(t, d.raw[0], "job").owner == lock.h.ID
	})
	must(t, lock.Unlock(background))
}

func subscriptionsEndWithTheWaiting(t *testing.T, d *deployment) {
	a, b := d.reached(), d.client()
	held := mustTry(t, a, "job")
	got := goLock(t, b, "job")
	d.inLine("job", 1)
	must(t, held.Unlock(background))
	must(t, have(t, got).Unlock(background))
	start := time.Now()
	eventually(t, "no subscription is left", func() bool {
		for _, r := range d.raw {
			if len(r.PubSubChannels(background, limits.DefaultPrefix+":waits:*").Val()) > 0 {
				return false
			}
		}
		return true
	})
	if kept := time.Since(start); kept < waitqueue.SubscriptionsIdle/2 {
		t.Errorf("the next to wait would have had to subscribe after %v", kept)
	}
}

// Without subscriptions, here because the masters do not allow them, nobody is
// called and everybody polls.
func TestWithoutSubscriptionsWaitersPoll(t *testing.T) {
	t.Parallel()
	onProcesses(t, 3, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.client()
		for _, r := range d.raw {
			must(t, r.Do(background, "acl", "setuser", "default", "-subscribe").Err())
		}
		held := mustTry(t, a, "job")
		start := time.Now()
		got := goLock(t, b, "job")
		eventually(t, "it waits", func() bool { return b.queues.Waiting("job") == 1 })
		time.Sleep(2 * askInterval) // in which it must not try again and again
		for i, r := range d.raw {
			stats, err := r.Info(background, "commandstats").Result()
			must(t, err)
			_, after, _ := strings.Cut(stats, "cmdstat_subscribe:")
			_, after, _ = strings.Cut(after, "rejected_calls=")
			count, _, _ := strings.Cut(after, ",")
			took := time.Since(start)
			if n, err := strconv.Atoi(count); err != nil || n < 1 || n > 2+int(took/askInterval) {
				t.Errorf("master %d refused %q subscriptions in %v", i, count, took)
			}
		}
		must(t, held.Unlock(background))
		start = time.Now()
		must(t, have(t, got).Unlock(background))
		if took := time.Since(start); took > maxPause+d.ttl() {
			t.Errorf("had it %v after the release", took)
		}
	})
}

// Subscriptions that break all the time cost nobody the lock.
func TestBrokenSubscriptions(t *testing.T) {
	t.Parallel()
	onProcesses(t, 3, func(t *testing.T, d *deployment) {
		d.reached()
		ctx, cancel := context.WithCancel(background)
		var breaking sync.WaitGroup
		for _, r := range d.raw {
			breaking.Go(func() {
				for ctx.Err() == nil {
					r.Do(background, "client", "kill", "type", "pubsub")
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
		var all sync.WaitGroup
		for range 4 {
			c := d.client(WithRequestTimeout(5 * time.Second)) // a busy machine is no fault
			all.Go(func() {
				for range 10 {
					lock, err := c.Lock(background, "job", WithWait(20*time.Second))
					if err != nil {
						t.Error(err)
						return
					}
					check(t, lock.Unlock(background))
				}
			})
		}
		all.Wait()
		cancel()
		breaking.Wait()
	})
}

// Who waits for a deployment to be founded asks seldom, and learns of it soon.
func TestWhoWaitsForAnInitAsksSeldom(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var tries atomic.Int64
		c := d.stranger(WithObserver(Observer{AttemptFailed: func(context.Context, FailedAttempt) { tries.Add(1) }}))
		lock := goLock(t, c, "job", WithWaitForSetup())
		const seconds = 10
		time.Sleep(seconds * time.Second)
		if got, most := tries.Load(), int64(2*seconds*time.Second/maxPause); got < seconds || got > most {
			t.Errorf("%d tries in %d s, want at most %d", got, seconds, most)
		}
		must(t, d.stranger().found(background, 0))
		start := time.Now()
		must(t, have(t, lock).Unlock(background))
		if took := time.Since(start); took > 2*maxPause {
			t.Errorf("after the init it took %v", took)
		}
	})
}

// Blocked waiters send next to nothing: counted on the masters.
func TestBlockedWaitersAreQuiet(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ masters, dead int }{{3, 0}, {5, 2}} {
		t.Run(fmt.Sprintf("%d of %d dead", x.dead, x.masters), func(t *testing.T) {
			t.Parallel()
			onProcesses(t, x.masters, func(t *testing.T, d *deployment) { blockedWaitersAreQuiet(t, d, x.dead) })
		})
	}
}

func blockedWaitersAreQuiet(t *testing.T, d *deployment, dead int) {
	const clients, callers, seconds = 3, 5, 4
	const ttl = 1500 * time.Millisecond // short, so that waiters look out for its end
	holder := d.reached()
	ctx, cancel := context.WithCancel(background)
	held := mustTry(t, holder, "job", WithTTL(ttl))
	var all sync.WaitGroup
	for range clients {
		c := d.reached()
		all.Go(func() { // callers that come and go
			for ctx.Err() == nil {
				if _, err := c.Lock(ctx, "job", WithWait(100*time.Millisecond)); err == nil {
					t.Error("locked, and it is held")
				}
			}
		})
		for range callers {
			all.Go(func() {
				if _, err := c.Lock(ctx, "job"); !errors.Is(err, context.Canceled) {
					t.Errorf("Lock = %v, want context.Canceled", err)
				}
			})
		}
	}
	d.inLine("job", clients)
	for i := range dead {
		d.masters[i].die()
	}
	alive := d.raw[dead:]
	start := time.Now()
	for _, r := range alive {
		must(t, r.ConfigResetStat(background).Err())
	}
	time.Sleep(seconds * time.Second)
	for i, r := range alive {
		calls := 0
		for line := range strings.Lines(r.Info(background, "commandstats").Val()) {
			n := 0
			if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &n); err == nil {
				calls += n
			}
		}
		took := time.Since(start)
		renewals := lease.Renewals * took.Seconds() / ttl.Seconds()
		if most := int(clients*2*took.Seconds()+renewals) + 2; calls > most || calls < seconds {
			t.Errorf("master %d: %d script calls in %v for %d waiting clients and a renewing holder; want at most %d", dead+i, calls, took, clients, most)
		}
	}
	cancel()
	all.Wait()
	must(t, held.Unlock(background))
}

// distant returns a client on n masters that are oneWay away.
func distant(t *testing.T, n int, oneWay time.Duration, opts ...Option) *Client {
	t.Helper()
	d := processes(t, n, redisproc.Config{AppendFsync: "always"})
	clients := make([]redis.UniversalClient, n)
	for i, m := range d.masters {
		p, err := faultproxy.New(m.options().Addr)
		must(t, err)
		t.Cleanup(func() { _ = p.Close() })
		p.Latency(oneWay)
		o := m.options()
		o.Addr = p.Addr()
		one := redis.NewClient(o)
		t.Cleanup(func() { _ = one.Close() })
		clients[i] = one
	}
	c, err := New(clients, append([]Option{WithRequestTimeout(2 * time.Second)}, opts...)...)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.found(background, 0))
	reached, err := c.Lock(background, "reaching", WithWait(time.Minute)) // it takes several round trips to connect
	must(t, err)
	must(t, reached.Unlock(background))
	return c
}

// A waiter that is refused before all masters have been asked stands in the lines of the others
// too: of three members one is down here, and another one is slow when it asks for the first time.
func TestAWaiterIsInLineWhereItHadNotAskedYet(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	var events recorder
	const ttl, timeout = time.Minute, 20 * time.Second
	a := d.reached(WithMaxTTL(ttl), WithTTL(ttl), WithRequestTimeout(timeout))
	b := d.reached(WithMaxTTL(ttl), WithTTL(ttl), WithRequestTimeout(timeout), WithObserver(Observer{
		AttemptFailed: func(_ context.Context, f FailedAttempt) { events.note("asked %s", f.Name) },
	}))
	held := mustTry(t, a, "job")
	d.masters[2].die()
	slow := proxies[1].Add(on(script.Acquire, 1, faultproxy.HoldRequest))
	got := goLock(t, b, "job")
	within(t, "slow Seen", slow.Seen())
	eventually(t, "it has asked with a place", func() bool {
		return d.raw[0].ZCard(background, script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val() == 1 && events.count("asked job") > 1
	})
	asked, start := events.count("asked job"), time.Now()
	slow.Release()
	d.inLine("job", 1)
	if took, again := time.Since(start), events.count("asked job")-asked; took > askInterval/2 && again > 0 {
		t.Errorf("it had to ask %d times more, for %v", again, took)
	}
	must(t, held.Unlock(background))
	must(t, have(t, got).Unlock(background))
}

// A waiter whom the masters can call asks them seldom, whatever its own ttl: at the
// ends of the leases that it knows of, and once in coveredInterval between these. It
// keeps its place in all lines by that.
func TestAWaiterThatIsCalledAsksSeldom(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		var events recorder
		a, b := d.reached(), d.reached(WithTTL(time.Second), WithObserver(Observer{AttemptFailed: func(_ context.Context, a FailedAttempt) { events.note("asked %s", a.Name) }}))
		held := mustTry(t, a, "job")
		settled(t, a) // it has the lock on all masters, else the waiter would be granted some
		got := goLock(t, b, "job")
		d.inLine("job", 1)
		const minutes = 2
		for second := range minutes * 60 {
			time.Sleep(time.Second)
			for i, r := range d.raw {
				if n := r.ZCard(background, script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val(); n != 1 {
					t.Fatalf("%d stand in the line of master %d after %d s", n, i, second+1)
				}
			}
		}
		if n, most := events.count("asked job"), int(minutes*time.Minute/(coveredInterval*3/4))+3; n > most || n < 2 {
			t.Errorf("it asked %d times in %d minutes, want at most %d", n, minutes, most)
		}
		start := time.Now()
		must(t, held.Unlock(background))
		must(t, have(t, got).Unlock(background))
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("it had the lock %v after the release", took)
		}
	})
}

// A process that is stopped hears that it is called, and does not come. The one
// behind it takes the lock as soon as it is not kept any more.
func TestWhoIsCalledAndDoesNotComeCostsAMoment(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.client()
		k := script.KeysOf(limits.DefaultPrefix, "job", "")
		held := mustTry(t, a, "job")
		for _, r := range d.raw {
			sub := r.Subscribe(background, "stopped")
			t.Cleanup(func() { _ = sub.Close() })
			_, err := sub.Receive(background)
			must(t, err)
			must(t, r.ZAdd(background, k.Queue, redis.Z{Score: 1, Member: "stopped"}).Err())
		}
		got := goLock(t, b, "job")
		d.inLine("job", 2)
		start := time.Now()
		must(t, held.Unlock(background))
		must(t, have(t, got).Unlock(background))
		if took := time.Since(start); took > standByPause+5*time.Millisecond {
			t.Errorf("it had the lock %v after the release, want %v", took, standByPause)
		}
	})
}

// A hand-over inside a client costs one round trip: the release and the next
// acquire leave together.
func TestAHandOverIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	const oneWay = 250 * time.Millisecond // far more than a busy machine takes
	c := distant(t, 3, oneWay)
	held := have(t, goLock(t, c, "job"))
	fastest := time.Hour // of some, because a busy machine may be late once
	for range 3 {
		got := goLock(t, c, "job")
		eventually(t, "it waits", func() bool { return c.queues.Waiting("job") == 1 })
		start := time.Now()
		must(t, held.Unlock(background))
		held = have(t, got)
		fastest = min(fastest, time.Since(start))
	}
	if fastest > 3*oneWay {
		t.Errorf("the next caller had the lock after %v at best, with %v there and back", fastest, 2*oneWay)
	}
	must(t, held.Unlock(background))
}

// No time to wait is one attempt, and no wait without end.
func TestNoWaitIsOneAttempt(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a := d.reached()
		held := mustTry(t, a, "job")
		for wait, want := range map[time.Duration]time.Duration{0: 0, -time.Second: 0, time.Second: time.Second} {
			for at, b := range map[string]*Client{"at the call": d.reached(), "at construction": d.reached(WithWait(wait))} {
				var opts []LockOption
				if at == "at the call" {
					opts = []LockOption{WithWait(wait)}
				}
				ctx, cancel := context.WithTimeout(background, time.Minute)
				start := time.Now()
				_, err := b.Lock(ctx, "job", opts...)
				requireErr(t, err, ErrNotAcquired, ErrHeld)
				if took := time.Since(start); took != want {
					t.Errorf("%v, %s: gave up after %v", wait, at, took)
				}
				if late := errors.Is(err, context.DeadlineExceeded); late != (wait > 0) {
					t.Errorf("%v, %s: %v", wait, at, err)
				}
				cancel()
			}
		}
		must(t, held.Unlock(background))
		lock, err := a.Lock(background, "job", WithWait(0))
		must(t, err)
		must(t, lock.Unlock(background))
	})
}

func TestRetryPause(t *testing.T) {
	t.Parallel()
	held := func(free time.Duration, votes ...Vote) error {
		return &QuorumError{Reason: ErrHeld, FreeIn: free, Votes: votes}
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, x := range []struct {
		claim string
		try   int
		err   error
		want  time.Duration // without the random half
	}{
		{"nothing known: doubles", 2, ErrNoQuorum, 4 * minPause},
		{"to a bound", 20, ErrNoQuorum, maxPause},
		{"not beyond the end of the lease", 20, held(ms(50)), ms(51)},
		{"split votes start low", 0, held(0, Vote{Answer: Granted}), splitPause},
	} {
		if got := retryPause(x.try, x.err, 1); got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
	for _, x := range []struct {
		claim string
		err   error
		quiet time.Duration
		want  time.Duration
	}{
		{"split: who is next will be called", held(0, Vote{Answer: Granted}), ms(400), ms(400)},
		{"until the end of the lease", held(ms(300)), 0, ms(301)},
		{"at the most", held(ms(30000)), 0, askInterval},
		{"asked in vain: not more often", held(ms(10)), ms(400), ms(400)},
	} {
		if got, held := calledPause(x.err, x.quiet, askInterval); got != x.want || !held {
			t.Errorf("called, %s: %v, %v; want %v", x.claim, got, held, x.want)
		}
	}
	if _, held := calledPause(&QuorumError{Reason: ErrNoQuorum}, 0, askInterval); held {
		t.Error("nobody holds the lock when there is no quorum")
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"job", "a:b", "}:lock:", "{7}"} {
		if got, ok := script.NameOf(script.KeysOf(limits.DefaultPrefix, name, "").Lock, limits.DefaultPrefix, limits.MaxNameLen); !ok || got != name {
			t.Errorf("%q reads as %q, %v", name, got, ok)
		}
	}
	if got, ok := script.NameOf("something else", limits.DefaultPrefix, limits.MaxNameLen); ok {
		t.Errorf("a key that is no lock reads as %q", got)
	}
}

// With two of five masters dead the first "held" decides an attempt. The waiter must
// come to stand in the lines of the others all the same, though its requests to them
// could not leave yet: it would else not be called, and ask by itself a second later.
func TestAWaiterStandsInAllLines(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 5)
	patient := []Option{WithRequestTimeout(10 * time.Second), WithTTL(29 * time.Second)} // no request times out
	a, b := faultClient(d, patient...), faultClient(d, patient...)
	warm := mustTry(t, a, "warm") // b subscribes, and learns the masters' time
	learns := time.Now()
	got := goLock(t, b, "warm")
	d.inLine("warm", 1)
	must(t, warm.Unlock(background))
	must(t, have(t, got).Unlock(background))

	held := mustTry(t, a, "job", WithTTL(29*time.Second), WithoutWatchdog())
	eventually(t, "held everywhere", func() bool { return d.holders("job") == "11111" })
	d.masters[0].die()
	d.masters[1].die()
	_, err := b.TryLock(background, "job") // notices
	requireErr(t, err, ErrHeld)
	busy := []*faultproxy.Fault{proxies[3].Add(on(script.Acquire, 1, faultproxy.HoldReply)), proxies[4].Add(on(script.Acquire, 1, faultproxy.HoldReply))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = b.TryLock(background, "other")
	}()
	for _, f := range busy {
		within(t, "the way to two masters is busy", f.Seen())
	}
	before := proxies[2].Count(faultproxy.Match("evalsha", script.Enqueue.Name, "job"))
	got = goLock(t, b, "job")
	eventually(t, "in the line of the third", func() bool {
		return d.raw[2].ZCard(background, script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val() == 1
	})
	for _, f := range busy {
		f.Release()
	}
	d.inLine("job", 1)
	// On a busy machine b has to learn the masters' time again.
	if n := proxies[2].Count(faultproxy.Match("evalsha", script.Enqueue.Name, "job")) - before; n != 1 && time.Since(learns) < 500*time.Millisecond {
		t.Errorf("in all lines after %d attempts", n)
	}
	must(t, held.Unlock(background))
	must(t, have(t, got).Unlock(background))
	<-done
}
