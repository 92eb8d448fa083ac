package redlock_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// tappedMaster is a master whose clients' subscriptions can be broken, and nothing else.
type tappedMaster struct {
	harness.Master
	mu   sync.Mutex
	subs []net.Conn
}

type tappedConn struct {
	net.Conn
	master *tappedMaster
}

func (c tappedConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nsubscribe\r\n")) {
		c.master.mu.Lock()
		c.master.subs = append(c.master.subs, c.Conn)
		c.master.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (m *tappedMaster) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return tappedConn{conn, m} })
}

func (m *tappedMaster) breakSubscriptions() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.subs {
		_ = conn.Close()
	}
	m.subs = nil
}

// tapped makes the masters of d such that what gives d.client from now on can be broken, by the
// function that it returns.
func tapped(d *harness.Deployment) (breakSubscriptions func()) {
	var all []*tappedMaster
	for i := range d.Masters {
		m := &tappedMaster{Master: d.Masters[i]}
		d.Masters[i] = m
		all = append(all, m)
	}
	return func() {
		for _, m := range all {
			m.breakSubscriptions()
		}
	}
}

// A waiter sleeps until it is called, for up to 20 s. A release at which its subscriptions were
// broken must not cost it that.
func TestACallThatIsLostIsMadeUpFor(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		a := d.Reached()
		breakSubscriptions := tapped(d)
		b := d.Reached()
		for range 3 {
			held := harness.MustTry(t, a, "job")
			harness.Settled(t, a)
			got := harness.GoLock(t, b, "job")
			time.Sleep(acquire.MaxAskInterval)
			start := time.Now()
			breakSubscriptions()
			harness.Must(t, held.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
			harness.Settled(t, b)
			if took := time.Since(start); took > acquire.StandByPause+20*time.Millisecond { // some masters may keep it for the subscription that broke
				t.Errorf("it had the lock %v after the release", took)
			}
		}
	})
}

func wokenByARelease(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	var took time.Duration
	for range 3 {
		held := harness.MustTry(t, a, "job")
		got := harness.GoLock(t, b, "job")
		d.InLine("job", 1)
		start := time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		lock := harness.Have(t, got)
		once := time.Since(start)
		if once > d.Either(acquire.AskInterval/4, acquire.AskInterval) {
			t.Errorf("had it %v after the release", once)
		}
		took += once
		harness.Must(t, lock.Unlock(context.Background()))
	}
	if took > 3*acquire.AskInterval/4 {
		t.Errorf("had it three times, %v after the releases in all: who asks by itself has it after %v each", took, acquire.AskInterval)
	}
}

func wokenByTheEndOfALease(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	asked := time.Now()
	held := harness.MustTry(t, a, "job", redlock.WithTTL(2*time.Second), redlock.WithoutWatchdog())
	start := time.Now()
	got := harness.GoLock(t, b, "job")
	lock := harness.Have(t, got)
	if least, most := time.Since(asked), time.Since(start); least < 1900*time.Millisecond || most > 2*time.Second+d.Either(acquire.AskInterval/4, acquire.AskInterval) {
		t.Errorf("had it %v to %v after a lease of 2 s began", most, least)
	}
	harness.Must(t, lock.Unlock(context.Background()))
	harness.RequireErr(t, held.Unlock(context.Background()), redlock.ErrExpired)
}

func servedInOrderAcrossClients(t *testing.T, d *harness.Deployment) {
	d.Reached()
	for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFair()}} {
		holder := d.Client()
		held := harness.MustTry(t, holder, "job")
		var mu sync.Mutex
		var order []int
		var tickets [6]float64
		var all sync.WaitGroup
		for i := range tickets {
			c := d.Client()
			all.Go(func() {
				lock, err := c.Lock(context.Background(), "job", opts...)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				harness.Check(t, lock.Unlock(context.Background()))
			})
			tickets[i] = d.TicketOf(c, "job")
			time.Sleep(time.Millisecond) // or the next one's ticket might be the same
		}
		harness.Must(t, held.Unlock(context.Background()))
		all.Wait()
		want := []int{0, 1, 2, 3, 4, 5}
		if !d.Virtual { // a client knows the time only to within what the masters took to tell it
			slices.SortFunc(want, func(a, b int) int { return cmp.Compare(tickets[a], tickets[b]) })
		}
		if !slices.Equal(order, want) {
			t.Errorf("%d options: served in order %v, want %v", len(opts), order, want)
		}
	}
}

// aGoneWaiterIsPassedOver: one whose connection is gone at once, one that hears and does not come
// (a process that was stopped) when its time is up.
func aGoneWaiterIsPassedOver(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for _, x := range []struct {
		ghost  string
		within time.Duration
	}{{"nobody hears this", d.Either(acquire.AskInterval/4, 3*acquire.AskInterval/4)}, {"heard, by nobody who comes", 2 * acquire.AskInterval}} {
		held := harness.MustTry(t, a, "job")
		got := harness.GoLock(t, b, "job", redlock.WithFair())
		d.InLine("job", 1)
		for _, r := range d.Raw {
			if x.ghost[0] == 'h' {
				sub := r.Subscribe(context.Background(), x.ghost)
				t.Cleanup(func() { _ = sub.Close() })
				_, err := sub.Receive(context.Background())
				harness.Must(t, err)
			}
			harness.Must(t, r.ZAdd(context.Background(), k.Queue, redis.Z{Score: 1, Member: x.ghost}).Err())
		}
		start := time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		lock := harness.Have(t, got)
		if took := time.Since(start); took > x.within {
			t.Errorf("%s: the next one had it after %v", x.ghost, took)
		}
		harness.Must(t, lock.Unlock(context.Background()))
	}
}

func aWaiterThatGivesUpLeaves(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	held := harness.MustTry(t, a, "job")
	ctx, cancel := context.WithCancel(context.Background())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := b.Lock(ctx, "job")
		gaveUp <- err
	}()
	d.InLine("job", 1)
	harness.Settled(t, b) // it knows that the lock is held
	start := time.Now()
	cancel()
	harness.RequireErr(t, <-gaveUp, context.Canceled, redlock.ErrHeld)
	if took := time.Since(start); took > d.Request() {
		t.Errorf("it took %v to leave", took)
	}
	d.InLine("job", 0)
	harness.Must(t, held.Unlock(context.Background()))
	harness.Eventually(t, "kept for nobody", func() bool { return !strings.Contains(d.Holders("job"), "1") })
}

// A master that was down when a waiter gave up hears of it when it is back: the lock that is free
// there is not kept for one who does not come.
func aWaiterThatGivesUpInAnOutageLeaves(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	held := harness.MustTry(t, a, "job", redlock.WithTTL(d.TTL()), redlock.WithoutWatchdog())
	ctx, giveUp := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := b.Lock(ctx, "job"); !errors.Is(err, context.Canceled) {
			t.Errorf("Lock = %v, want context.Canceled", err)
		}
	}()
	d.InLine("job", 1)
	d.Masters[1].Die()
	d.Masters[2].Die()
	giveUp()
	<-gone
	<-held.Context().Done() // whose release would make room in the line
	back := time.Now()
	d.Masters[1].Revive()
	d.Masters[2].Revive()
	d.InLine("job", 0)
	if took := time.Since(back); took > acquire.MaxAskInterval {
		t.Errorf("it stood in line for %v, want less than %v", took, acquire.MaxAskInterval)
	}
	harness.Eventually(t, "the end of the lease", func() bool { return d.Holders("job") == "000" })
	harness.Must(t, harness.MustTry(t, d.Reached(), "job").Unlock(context.Background()))
}

func oneClientKeepsANameForSoLong(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil {
				lock, err := a.Lock(context.Background(), "job")
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond)
				harness.Check(t, lock.Unlock(context.Background()))
			}
		})
	}
	harness.Eventually(t, "busy", func() bool { return harness.Waiting(a, "job") >= 2 })
	warm := harness.Have(t, harness.GoLock(t, b, "job")) // subscribes
	harness.Must(t, warm.Unlock(context.Background()))
	slack := d.Either(time.Millisecond, time.Second)
	for range 10 {
		start := time.Now()
		lock := harness.Have(t, harness.GoLock(t, b, "job"))
		if took := time.Since(start); took > 2*acquire.KeepFor+slack {
			t.Errorf("a client with four busy callers let the other in after %v", took)
		}
		harness.Must(t, lock.Unlock(context.Background()))
	}
	cancel()
	busy.Wait()
}

// aFreeMasterMisleadsNobody: one that the holder does not have calls the waiter again and again, in
// vain; the others' call must not be missed for that.
func aFreeMasterMisleadsNobody(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	held := d.Either(25*time.Second, time.Second)
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(29*time.Second), redlock.WithoutWatchdog())
	d.Drop(a, "job", 4)
	got := harness.GoLock(t, b, "job")
	time.Sleep(held)
	start := time.Now()
	harness.Must(t, lock.Unlock(context.Background()))
	lock = harness.Have(t, got)
	if took := time.Since(start); took > 2*acquire.AskInterval {
		t.Errorf("had it %v after the release", took)
	}
	harness.Must(t, lock.Unlock(context.Background()))
}

// aRepairComesBeforeACall: what is kept for one who waits belongs to nobody, and must not keep a
// holder from getting back what it lost.
func aRepairComesBeforeACall(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	lock := harness.MustTry(t, c, "job")
	d.Drop(c, "job", 0)
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	harness.Must(t, d.Raw[0].Set(context.Background(), k.Lock, " somebody", 0).Err())
	harness.Must(t, lock.Extend(context.Background(), limits.DefaultTTL)) // finds out
	harness.Settled(t, c)
	harness.Must(t, lock.Extend(context.Background(), limits.DefaultTTL)) // repairs
	harness.Eventually(t, "it is the holder's again", func() bool {
		return harness.LockOn(t, d.Raw[0], "job").Owner == harness.Hold(lock).ID
	})
	harness.Must(t, lock.Unlock(context.Background()))
}

func subscriptionsEndWithTheWaiting(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	held := harness.MustTry(t, a, "job")
	got := harness.GoLock(t, b, "job")
	d.InLine("job", 1)
	harness.Must(t, held.Unlock(context.Background()))
	harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
	start := time.Now()
	harness.Eventually(t, "no subscription is left", func() bool {
		for _, r := range d.Raw {
			if len(r.PubSubChannels(context.Background(), limits.DefaultPrefix+":waits:*").Val()) > 0 {
				return false
			}
		}
		return true
	})
	if kept := time.Since(start); kept < waitqueue.SubscriptionsIdle/2 {
		t.Errorf("the next to wait would have had to subscribe after %v", kept)
	}
}

// Without subscriptions, here because the masters do not allow them, nobody is called and everybody
// polls.
func TestWithoutSubscriptionsWaitersPoll(t *testing.T) {
	t.Parallel()
	harness.OnProcesses(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Client()
		for _, r := range d.Raw {
			harness.Must(t, r.Do(context.Background(), "acl", "setuser", "default", "-subscribe").Err())
		}
		held := harness.MustTry(t, a, "job")
		start := time.Now()
		got := harness.GoLock(t, b, "job")
		harness.Eventually(t, "it waits", func() bool { return harness.Waiting(b, "job") == 1 })
		time.Sleep(2 * acquire.AskInterval) // in which it must not try again and again
		for i, r := range d.Raw {
			stats, err := r.Info(context.Background(), "commandstats").Result()
			harness.Must(t, err)
			_, after, _ := strings.Cut(stats, "cmdstat_subscribe:")
			_, after, _ = strings.Cut(after, "rejected_calls=")
			count, _, _ := strings.Cut(after, ",")
			took := time.Since(start)
			if n, err := strconv.Atoi(count); err != nil || n < 1 || n > 2+int(took/acquire.AskInterval) {
				t.Errorf("master %d refused %q subscriptions in %v", i, count, took)
			}
		}
		harness.Must(t, held.Unlock(context.Background()))
		start = time.Now()
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		if took := time.Since(start); took > acquire.MaxPause+d.TTL() {
			t.Errorf("had it %v after the release", took)
		}
	})
}

// Who waits for a deployment to be founded asks seldom, and learns of it soon.
func TestWhoWaitsForAnInitAsksSeldom(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var tries atomic.Int64
		c := d.Stranger(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) { tries.Add(1) }}))
		lock := harness.GoLock(t, c, "job", redlock.WithWaitForSetup())
		const seconds = 10
		time.Sleep(seconds * time.Second)
		if got, most := tries.Load(), int64(2*seconds*time.Second/acquire.MaxPause); got < seconds || got > most {
			t.Errorf("%d tries in %d s, want at most %d", got, seconds, most)
		}
		harness.Must(t, harness.Found(context.Background(), d.Stranger(), 0))
		start := time.Now()
		harness.Must(t, harness.Have(t, lock).Unlock(context.Background()))
		if took := time.Since(start); took > 2*acquire.MaxPause {
			t.Errorf("after the init it took %v", took)
		}
	})
}

// A waiter that is refused before all masters have been asked stands in the lines of the others
// too: of three members one is down here, and another one is slow when it asks for the first time.
func TestAWaiterIsInLineWhereItHadNotAskedYet(t *testing.T) {
	t.Parallel()
	// On a busy machine it may be time to ask again before it stands in line, though not each time.
	for range 5 {
		if !asksOnceMore(t) {
			return
		}
	}
	t.Error("it had to ask once more each time")
}

// asksOnceMore reports whether the waiter stands in line only when it has asked the slow master
// once more.
func asksOnceMore(t *testing.T) bool {
	d, proxies := harness.Proxied(t, 3)
	var events harness.Recorder
	const ttl, timeout = time.Minute, 20 * time.Second
	a := d.Reached(redlock.WithMaxTTL(ttl), redlock.WithTTL(ttl), redlock.WithRequestTimeout(timeout))
	b := d.Reached(redlock.WithMaxTTL(ttl), redlock.WithTTL(ttl), redlock.WithRequestTimeout(timeout), redlock.WithObserver(redlock.Observer{
		AttemptFailed: func(_ context.Context, f redlock.FailedAttempt) { events.Note("asked %s", f.Name) },
	}))
	held := harness.MustTry(t, a, "job")
	d.Masters[2].Die()
	slow := proxies[1].Add(harness.On(script.Acquire, 1, faultproxy.HoldRequest))
	got := harness.GoLock(t, b, "job")
	harness.Within(t, "slow Seen", slow.Seen())
	harness.Eventually(t, "it has asked with a place", func() bool {
		return d.Raw[0].ZCard(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val() == 1 && events.Count("asked job") > 1
	})
	asked, start := events.Count("asked job"), time.Now()
	slow.Release()
	d.InLine("job", 1)
	again := time.Since(start) > acquire.AskInterval/2 && events.Count("asked job") > asked
	harness.Must(t, held.Unlock(context.Background()))
	harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
	return again
}

// A waiter whom the masters can call asks them seldom, whatever its own ttl: at the ends of the
// leases that it knows of, and once in coveredInterval between these. It keeps its place in all
// lines by that.
func TestAWaiterThatIsCalledAsksSeldom(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		a, b := d.Reached(), d.Reached(redlock.WithTTL(time.Second), redlock.WithObserver(redlock.Observer{AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) { events.Note("asked %s", a.Name) }}))
		held := harness.MustTry(t, a, "job")
		harness.Settled(t, a) // it has the lock on all masters, else the waiter would be granted some
		got := harness.GoLock(t, b, "job")
		d.InLine("job", 1)
		const minutes = 2
		for second := range minutes * 60 {
			time.Sleep(time.Second)
			for i, r := range d.Raw {
				if n := r.ZCard(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val(); n != 1 {
					t.Fatalf("%d stand in the line of master %d after %d s", n, i, second+1)
				}
			}
		}
		if n, most := events.Count("asked job"), int(minutes*time.Minute/(acquire.CoveredInterval*3/4))+3; n > most || n < 2 {
			t.Errorf("it asked %d times in %d minutes, want at most %d", n, minutes, most)
		}
		start := time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("it had the lock %v after the release", took)
		}
	})
}

// A release grants the lock to who waits, for a second, and who has it has it renewed.
func TestAReleaseGrantsToWhoWaits(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		before := uint64(0)
		for range 3 {
			held := harness.MustTry(t, a, "job")
			harness.Settled(t, a)
			got := harness.GoLock(t, b, "job")
			d.InLine("job", 1)
			time.Sleep(100 * time.Millisecond)
			harness.Must(t, held.Unlock(context.Background()))
			lock := harness.Have(t, got)
			if left, alive := harness.Hold(lock).Left(); !alive || left > quorum.LongestGiven-100*time.Millisecond {
				t.Errorf("it is proved for %v yet (alive: %v), want it from before it asked", left, alive)
			}
			if token := uint64(lock.Token()); token <= uint64(held.Token()) || token <= before {
				t.Errorf("its token is %d, and that before %d", token, held.Token())
			}
			before = uint64(lock.Token())
			time.Sleep(2 * quorum.LongestGiven)
			if left, alive := harness.Hold(lock).Left(); !alive || left < 2*quorum.LongestGiven {
				t.Errorf("after %v it is proved for %v (alive: %v), want it renewed", 2*quorum.LongestGiven, left, alive)
			}
			harness.Must(t, lock.Unlock(context.Background()))
			harness.Settled(t, b)
			for i, r := range d.Raw {
				k := script.KeysOf(limits.DefaultPrefix, "job", "")
				if n := r.Exists(context.Background(), k.Lock, k.Queue).Val(); n != 0 {
					t.Errorf("%d keys of it are left on master %d", n, i)
				}
			}
		}
	})
}

// Who counts on the ttl that it asked for is called: a lease that nothing renews, or only for as
// long as a context lasts.
func TestWhoIsNotRenewedIsCalled(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		for _, option := range []redlock.LockOption{redlock.WithoutWatchdog(), redlock.WithContextRenewal(), redlock.WithLockDelay(time.Second)} {
			held := harness.MustTry(t, a, "job")
			got := harness.GoLock(t, b, "job", option)
			d.InLine("job", 1)
			time.Sleep(100 * time.Millisecond)
			harness.Must(t, held.Unlock(context.Background()))
			lock := harness.Have(t, got)
			if left, _ := harness.Hold(lock).Left(); left < 2*quorum.LongestGiven {
				t.Errorf("it is proved for %v, want the ttl", left)
			}
			harness.Must(t, lock.Unlock(context.Background()))
		}
	})
}

// A process that is stopped is granted the lock all the same, and keeps it for a second.
func TestWhoIsGrantedAndDoesNotComeCostsASecond(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Client()
		held := harness.MustTry(t, a, "job")
		channel := "stopped"
		stopped := &lease.Owner{ID: "stopped", Keys: script.KeysOf(limits.DefaultPrefix, "job", "stopped")}
		call := stopped.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{
			Channel: &channel, Ticket: waitqueue.TicketOf("1"), Takes: quorum.LongestGiven})
		for _, r := range d.Raw {
			sub := r.Subscribe(context.Background(), channel)
			t.Cleanup(func() { _ = sub.Close() })
			_, err := sub.Receive(context.Background())
			harness.Must(t, err)
			_, err = harness.CallIn(script.BatchSource, r, call)
			harness.Must(t, err)
		}
		got := harness.GoLock(t, b, "job")
		d.InLine("job", 2)
		start := time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		if took := time.Since(start); took < quorum.LongestGiven || took > quorum.LongestGiven+200*time.Millisecond {
			t.Errorf("it had the lock %v after the release, want %v", took, quorum.LongestGiven)
		}
	})
}

// deafTo is a master from which no message that contains a text comes to subscribers.
type deafTo struct {
	harness.Master
	text string
}

type deafConn struct {
	net.Conn
	text string
}

func (c deafConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !bytes.Contains(p[:n], []byte(c.text)) {
			return n, err
		}
	}
}

func (m deafTo) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return deafConn{conn, m.text} })
}

// Notices of grants that get lost cost a moment, and leave nothing behind.
func TestAGrantOfWhichNobodyHears(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{2, 3} {
		harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
			a := d.Reached()
			for i := range lost {
				d.Masters[i] = deafTo{d.Masters[i], "given "}
			}
			b := d.Reached()
			held := harness.MustTry(t, a, "job")
			got := harness.GoLock(t, b, "job")
			d.InLine("job", 1)
			start := time.Now()
			harness.Must(t, held.Unlock(context.Background()))
			lock := harness.Have(t, got)
			if took := time.Since(start); took > 50*time.Millisecond { // who is called by too few asks after 20 ms
				t.Errorf("with %d notices lost it had the lock %v after the release", lost, took)
			}
			harness.Must(t, lock.Unlock(context.Background()))
			harness.Settled(t, b)
			for i, r := range d.Raw {
				if value := r.Get(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Val(); value != "" {
					t.Errorf("with %d notices lost master %d has %q after the Unlock", lost, i, value)
				}
			}
		})
	}
}

// A hand-over inside a client costs one round trip: the release and the next acquire leave
// together.
func TestAHandOverIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const trip = 100 * time.Millisecond
		d.Client() // founds it
		d.MoveAway(func() time.Duration { return trip })
		c := d.Reached(redlock.WithRequestTimeout(time.Second))
		held := harness.MustTry(t, c, "job")
		harness.Settled(t, c)
		got := harness.GoLock(t, c, "job")
		harness.Eventually(t, "it waits", func() bool { return harness.Waiting(c, "job") == 1 })
		start := time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		next := harness.Have(t, got)
		if took := time.Since(start); took != trip {
			t.Errorf("the next caller had the lock after %v, want %v", took, trip)
		}
		harness.Must(t, next.Unlock(context.Background()))
	})
}

// No time to wait is one attempt, and no wait without end.
func TestNoWaitIsOneAttempt(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := d.Reached()
		held := harness.MustTry(t, a, "job")
		for wait, want := range map[time.Duration]time.Duration{0: 0, -time.Second: 0, time.Second: time.Second} {
			for at, b := range map[string]*redlock.Client{"at the call": d.Reached(), "at construction": d.Reached(redlock.WithWait(wait))} {
				var opts []redlock.LockOption
				if at == "at the call" {
					opts = []redlock.LockOption{redlock.WithWait(wait)}
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				start := time.Now()
				_, err := b.Lock(ctx, "job", opts...)
				harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
				if took := time.Since(start); took != want {
					t.Errorf("%v, %s: gave up after %v", wait, at, took)
				}
				if late := errors.Is(err, context.DeadlineExceeded); late != (wait > 0) {
					t.Errorf("%v, %s: %v", wait, at, err)
				}
				cancel()
			}
		}
		harness.Must(t, held.Unlock(context.Background()))
		lock, err := a.Lock(context.Background(), "job", redlock.WithWait(0))
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
	})
}
