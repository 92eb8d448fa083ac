package redlock_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

func wokenByRelease(t *testing.T, d *harness.Deployment) {
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

func wokenByLeaseEnd(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Client()
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
			time.Sleep(time.Millisecond) // so that the next waiter has a later ticket
		}
		harness.Must(t, held.Unlock(context.Background()))
		all.Wait()
		want := []int{0, 1, 2, 3, 4, 5}
		if !d.Virtual { // on processes, the tickets may have another order than the calls
			slices.SortFunc(want, func(a, b int) int { return cmp.Compare(tickets[a], tickets[b]) })
		}
		if !slices.Equal(order, want) {
			t.Errorf("%d options: served in order %v, want %v", len(opts), order, want)
		}
	}
}

func abandonedWaitLeavesQueue(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	held := harness.MustTry(t, a, "job")
	ctx, cancel := context.WithCancel(context.Background())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := b.Lock(ctx, "job")
		gaveUp <- err
	}()
	d.InLine("job", 1)
	harness.Settled(t, b) // b has all answers: the lock is held
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

// If a master is down when a waiter gives up, the waiter leaves the master's queue as soon as the master is up again.
// So the master does not keep the free lock for that waiter.
func abandonedWaitInOutageLeavesQueue(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Client()
	harness.MustTry(t, a, "job", redlock.WithoutWatchdog()) // a release, or a failed renewal, would remove the waiter from the queue
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
	d.Masters[1].Revive()
	d.Masters[2].Revive()
	back := time.Now()
	d.InLine("job", 0) // a minute before the masters would remove the waiter themselves
	if took := time.Since(back); d.Virtual && took > acquire.MaxAskInterval {
		t.Errorf("it stood in line for %v, want less than %v", took, acquire.MaxAskInterval)
	}
	for _, r := range d.Raw { // as the masters do at the end of the lease
		harness.Must(t, r.Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Err())
	}
	harness.Must(t, harness.MustTry(t, d.Reached(), "job").Unlock(context.Background()))
}

func clientKeepsNameForBoundedTime(t *testing.T, d *harness.Deployment) {
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
	warm := harness.Have(t, harness.GoLock(t, b, "job")) // b subscribes
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

// A waiter that masters can call polls seldom: at the ends of leases that masters reported, and once per
// CoveredInterval. It keeps its place in all queues.
func TestCalledWaiterPollsSeldom(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		a, b := d.Reached(), d.Reached(redlock.WithTTL(time.Second), redlock.WithObserver(redlock.Observer{AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) { events.Note("asked %s", a.Name) }}))
		held := harness.MustTry(t, a, "job")
		harness.Settled(t, a) // a has the lock on all masters; otherwise some would grant it to the waiter
		got := harness.GoLock(t, b, "job")
		d.InLine("job", 1)
		const minutes = 2
		for second := range minutes * 60 {
			time.Sleep(time.Second)
			for i, r := range d.Raw {
				if n := r.ZCard(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue).Val(); n != 1 {
					t.Fatalf("%d are in the queue of master %d after %d s", n, i, second+1)
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

// A hand-over within a client is one round trip: release and next acquire are sent together.
func TestHandOverIsOneRoundTrip(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const trip = 100 * time.Millisecond
		d.Client() // founds the deployment
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

// A wait of zero makes one attempt, and does not wait without end.
func TestNoWaitMakesOneAttempt(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := d.Reached()
		held := harness.MustTry(t, a, "job")
		for _, wait := range []time.Duration{0, -time.Second, time.Second} {
			start := time.Now()
			for _, err := range []error{
				harness.ErrOf(d.Client().Lock(context.Background(), "job", redlock.WithWait(wait))),
				harness.ErrOf(d.Client(redlock.WithWait(wait)).Lock(context.Background(), "job")),
			} {
				harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
				if late := errors.Is(err, context.DeadlineExceeded); late != (wait > 0) {
					t.Errorf("%v: %v", wait, err)
				}
			}
			if took := time.Since(start); took != 2*max(wait, 0) {
				t.Errorf("%v: both took %v", wait, took)
			}
		}
		harness.Must(t, held.Unlock(context.Background()))
		lock := harness.MustLock(t, a, "job", redlock.WithWait(0))
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// The masters' clocks are an hour ahead while a client gets its ticket. The first waiter of the client gives up, and the
// next one keeps the ticket. When the clocks are set right, this waiter is not behind all later waiters.
func TestTicketOfClocksAhead(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		set := func(ahead time.Duration) {
			for _, m := range d.Masters {
				m.(harness.EmbeddedMaster).SetClock(ahead)
			}
		}
		holder := d.Reached()
		set(time.Hour)
		lock := harness.MustTry(t, holder, "job")
		c := d.Client()
		left := make(chan error, 1)
		go func() { left <- harness.ErrOf(c.Lock(context.Background(), "job", redlock.WithWait(time.Second))) }()
		d.InLine("job", 1)
		got := harness.GoLock(t, c, "job")
		time.Sleep(500 * time.Millisecond)
		set(0)
		harness.RequireErr(t, <-left, redlock.ErrHeld)
		ctx, cancel := context.WithCancel(context.Background())
		var rivals sync.WaitGroup
		for range 3 {
			rival := d.Client()
			rivals.Go(func() {
				for {
					held, err := rival.Lock(ctx, "job", redlock.WithFair())
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					harness.Must(t, held.Unlock(context.Background()))
				}
			})
		}
		d.InLine("job", 4)
		harness.Must(t, lock.Unlock(context.Background()))
		begin := time.Now()
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("it waited for %v", took)
		}
		cancel()
		rivals.Wait()
	})
}
