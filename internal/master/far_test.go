package master_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
)

// To a far master pipelines leave without waiting for those before: a step costs hardly more than a
// round trip, however many callers there are.
func TestFarMasters(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, workers := range []int{1, 32} {
			t.Run(fmt.Sprint(trip, " ", workers), func(t *testing.T) {
				t.Parallel()
				harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
					d.MoveAway(func() time.Duration { return trip })
					c := d.Reached()
					var pairs, inSteps atomic.Int64
					work := func(until time.Time) {
						var working sync.WaitGroup
						for i := range workers {
							working.Go(func() {
								name := fmt.Sprint("job ", i)
								random := rand.New(rand.NewPCG(1, uint64(i)))
								for time.Now().Before(until) {
									began := time.Now()
									lock, err := c.TryLock(context.Background(), name)
									if err != nil {
										t.Error(err)
										return
									}
									// Workers that came together would leave together ever after.
									between := time.Duration(random.Float64() * float64(trip))
									time.Sleep(between)
									harness.Check(t, lock.Unlock(context.Background()))
									pairs.Add(1)
									inSteps.Add(int64(time.Since(began) - between))
								}
							})
						}
						working.Wait()
					}
					work(time.Now().Add(10 * trip)) // until all links are there
					pairs.Store(0)
					inSteps.Store(0)
					work(time.Now().Add(20 * trip))
					step := time.Duration(inSteps.Load() / max(1, 2*pairs.Load()))
					if step > trip*5/4 {
						t.Errorf("a step took %v on the average, with %v there and back", step, trip)
					}
				})
			})
		}
	}
}

// Two requests for one name never overtake each other, though each link has its own delay: a caller
// never meets the lock it has just released.
func TestFarMastersKeepTheOrderOfAName(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var refused atomic.Int64
		random := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		d.MoveAway(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		})
		c := d.Reached(redlock.WithObserver(redlock.Observer{Acquired: func(_ context.Context, a redlock.Acquisition) {
			for _, v := range a.Votes {
				if v.Answer == redlock.Held {
					refused.Add(1)
				}
			}
		}}))
		var working sync.WaitGroup
		for i := range 16 {
			working.Go(func() {
				name := fmt.Sprint("job ", i)
				for range 30 {
					lock, err := c.TryLock(context.Background(), name)
					if err != nil {
						t.Error(err)
						return
					}
					harness.Check(t, lock.Unlock(context.Background()))
				}
			})
		}
		working.Wait()
		if n := refused.Load(); n > 0 {
			t.Errorf("%d votes found the lock that had been released before, want none", n)
		}
	})
}

// The queues of far masters may be so long that a renewal waits for longer than until it is tried
// again. The next try has its place, so that its turn comes.
func TestARenewalKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const ttl = 6 * time.Second
		d.MoveAway(func() time.Duration { return time.Second })
		c := d.Reached(redlock.WithTTL(2*ttl), redlock.WithRequestTimeout(5*time.Second))
		ctx, cancel := context.WithCancel(context.Background())
		var others sync.WaitGroup
		for i := range 32 { // with 64 requests each, of which half are under way at once
			names := make([]string, limits.MaxNames)
			for j := range names {
				names[j] = fmt.Sprint("set ", i, " name ", j)
			}
			others.Go(func() {
				for ctx.Err() == nil {
					if set, err := c.TryLockAll(ctx, names); err == nil { // else it took too long
						_ = set.Unlock(context.Background())
					}
				}
			})
		}
		time.Sleep(10 * time.Second) // until all links are there
		lock, err := c.Lock(context.Background(), "renewed", redlock.WithTTL(ttl))
		harness.Must(t, err)
		select {
		case <-lock.Context().Done():
			t.Errorf("the hold is over: %v", context.Cause(lock.Context()))
		case <-time.After(2 * ttl):
		}
		cancel()
		others.Wait()
	})
}

// busyMaster is near, but takes a while over each batch: its machine, or that of the client, is
// busy.
type busyMaster struct {
	harness.Master
	takes *atomic.Int64
}

func (m busyMaster) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return busyConn{conn, m.takes} })
}

type busyConn struct {
	net.Conn
	takes *atomic.Int64
}

// Write takes its time for a batch alone: go-redis writes what concerns a subscription under a
// mutex, and time stands still in a bubble in which somebody waits for that.
func (c busyConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) {
		time.Sleep(time.Duration(c.takes.Load()))
	}
	return c.Conn.Write(p)
}

// So many callers come at once that their acquires fill the masters' queues for longer than the
// request timeout. What ends a hold, or concerns one, does not stand behind what is to begin
// others.
func TestAHoldDoesNotWaitForNewOnes(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const step = 60 * time.Millisecond
		var takes atomic.Int64
		for i, m := range d.Masters {
			d.Masters[i] = busyMaster{m, &takes}
		}
		c := d.Reached()
		lock := harness.MustTry(t, c, "held")
		harness.Settled(t, c)
		takes.Store(int64(step))
		var working sync.WaitGroup
		var longest atomic.Int64
		soon := func(what string, do func() error) {
			begin := time.Now()
			if err := do(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			took := int64(time.Since(begin))
			for was := longest.Load(); was < took && !longest.CompareAndSwap(was, took); {
				was = longest.Load()
			}
		}
		for i := range 1500 {
			working.Go(func() {
				one, err := c.Lock(context.Background(), fmt.Sprint("job ", i), redlock.WithWait(harness.Patience))
				if err != nil {
					t.Error(err)
					return
				}
				soon("Unlock of one of many", func() error { return one.Unlock(context.Background()) })
			})
		}
		time.Sleep(step / 2)
		soon("Extend", func() error { return lock.Extend(context.Background(), limits.DefaultTTL) })
		soon("re-entry", func() error {
			again, err := c.TryLock(lock.Context(), "held")
			if err == nil {
				err = again.Unlock(context.Background())
			}
			return err
		})
		soon("Unlock", func() error { return lock.Unlock(context.Background()) })
		working.Wait()
		if took := time.Duration(longest.Load()); took > 4*step { // two steps for what was under way, and two of its own
			t.Errorf("one took %v, with %v for a batch", took, step)
		}
	})
}

// Masters are farther away than the time after which a renewal is tried again. Each is asked three
// times in a ttl all the same, also while another is dead.
func TestFarMastersAreRenewedNoOftener(t *testing.T) {
	t.Parallel()
	for dead := range 2 {
		t.Run(fmt.Sprint(dead, " dead"), func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				const ttl, trip, lasts = time.Second, 100 * time.Millisecond, 10 * time.Second
				d.MoveAway(func() time.Duration { return trip })
				var asked [3]atomic.Int64
				of := map[string]int{}
				c := d.Reached(redlock.WithTTL(ttl), redlock.WithObserver(redlock.Observer{MasterCalled: func(call redlock.MasterCall) { asked[of[call.Master]].Add(1) }}))
				for i := range d.Masters {
					of[harness.Inside(c).Masters[i].Name] = i
				}
				if dead == 1 {
					d.Masters[2].Die()
				}
				lock := harness.MustTry(t, c, "job")
				harness.Settled(t, c)
				for i := range asked {
					asked[i].Store(0)
				}
				time.Sleep(lasts)
				for i := range 3 - dead {
					if n, most := asked[i].Load(), int64(lease.Renewals*lasts/ttl); n > most || n < most-lease.Renewals {
						t.Errorf("master %d was asked %d times in %v, want %d", i, n, lasts, most)
					}
				}
				if !lock.Valid() {
					t.Errorf("the hold ended: %v", context.Cause(lock.Context()))
				}
				harness.Must(t, lock.Unlock(context.Background()))
			})
		})
	}
}
