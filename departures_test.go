package redlock

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

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
)

// farMaster is a master that each connection reaches after a time of its own.
type farMaster struct {
	testMaster
	trip func() time.Duration
}

func (m farMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return newFarConn(conn, m.trip()) })
}

// farConn delivers what is written to it after a while, and what is read at once.
type farConn struct {
	net.Conn
	trip   time.Duration
	mu     sync.Mutex
	closed bool
	onWay  chan parcel
}

type parcel struct {
	arrives time.Time
	content []byte
}

func newFarConn(conn net.Conn, trip time.Duration) *farConn {
	c := &farConn{Conn: conn, trip: trip, onWay: make(chan parcel, 1024)}
	go func() {
		for p := range c.onWay {
			time.Sleep(time.Until(p.arrives))
			_, _ = conn.Write(p.content) // a broken connection shows when it is read
		}
	}()
	return c
}

func (c *farConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.onWay <- parcel{time.Now().Add(c.trip), append([]byte(nil), p...)}
	return len(p), nil
}

func (c *farConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.onWay)
	}
	return c.Conn.Close()
}

func (d *deployment) moveAway(trip func() time.Duration) {
	for i, m := range d.masters {
		d.masters[i] = farMaster{m, trip}
	}
}

// To a far master pipelines leave without waiting for those before: a step costs
// hardly more than a round trip, however many callers there are.
func TestFarMasters(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, workers := range []int{1, 32} {
			t.Run(fmt.Sprint(trip, " ", workers), func(t *testing.T) {
				t.Parallel()
				inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
					d.moveAway(func() time.Duration { return trip })
					c := d.reached()
					var pairs, inSteps atomic.Int64
					work := func(until time.Time) {
						var working sync.WaitGroup
						for i := range workers {
							working.Go(func() {
								name := fmt.Sprint("job ", i)
								random := rand.New(rand.NewPCG(1, uint64(i)))
								for time.Now().Before(until) {
									began := time.Now()
									lock, err := c.TryLock(background, name)
									if err != nil {
										t.Error(err)
										return
									}
									// Workers that came together would leave together ever after.
									between := time.Duration(random.Float64() * float64(trip))
									time.Sleep(between)
									check(t, lock.Unlock(background))
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

// Two requests for one name never overtake each other, though each link has its
// own delay: a caller never meets the lock it has just released.
func TestFarMastersKeepTheOrderOfAName(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var refused atomic.Int64
		random := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		d.moveAway(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		})
		c := d.reached(WithObserver(Observer{Acquired: func(_ context.Context, a Acquisition) {
			for _, v := range a.Votes {
				if v.Answer == Held {
					refused.Add(1)
				}
			}
		}}))
		var working sync.WaitGroup
		for i := range 16 {
			working.Go(func() {
				name := fmt.Sprint("job ", i)
				for range 30 {
					lock, err := c.TryLock(background, name)
					if err != nil {
						t.Error(err)
						return
					}
					check(t, lock.Unlock(background))
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
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const ttl = 6 * time.Second
		d.moveAway(func() time.Duration { return time.Second })
		c := d.reached(WithTTL(2*ttl), WithRequestTimeout(5*time.Second))
		ctx, cancel := context.WithCancel(background)
		var others sync.WaitGroup
		for i := range 32 { // with 64 requests each, of which half are under way at once
			names := make([]string, limits.MaxNames)
			for j := range names {
				names[j] = fmt.Sprint("set ", i, " name ", j)
			}
			others.Go(func() {
				for ctx.Err() == nil {
					if set, err := c.TryLockAll(ctx, names); err == nil { // else it took too long
						_ = set.Unlock(background)
					}
				}
			})
		}
		time.Sleep(10 * time.Second) // until all links are there
		lock, err := c.Lock(background, "renewed", WithTTL(ttl))
		must(t, err)
		select {
		case <-lock.Context().Done():
			t.Errorf("the hold is over: %v", context.Cause(lock.Context()))
		case <-time.After(2 * ttl):
		}
		cancel()
		others.Wait()
	})
}

// busyMaster is near, but takes a while over each batch: its machine, or that of the client, is busy.
type busyMaster struct {
	testMaster
	takes *atomic.Int64
}

func (m busyMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return busyConn{conn, m.takes} })
}

type busyConn struct {
	net.Conn
	takes *atomic.Int64
}

// Write takes its time for a batch alone: go-redis writes what concerns a subscription under a mutex, and time stands still in a bubble
// in which somebody waits for that.
func (c busyConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) {
		time.Sleep(time.Duration(c.takes.Load()))
	}
	return c.Conn.Write(p)
}

// So many callers come at once that their acquires fill the masters' queues for longer than the request timeout. What
// ends a hold, or concerns one, does not stand behind what is to begin others.
func TestAHoldDoesNotWaitForNewOnes(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const step = 60 * time.Millisecond
		var takes atomic.Int64
		for i, m := range d.masters {
			d.masters[i] = busyMaster{m, &takes}
		}
		c := d.reached()
		lock := mustTry(t, c, "held")
		settled(t, c)
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
				one, err := c.Lock(background, fmt.Sprint("job ", i), WithWait(patience))
				if err != nil {
					t.Error(err)
					return
				}
				soon("Unlock of one of many", func() error { return one.Unlock(background) })
			})
		}
		time.Sleep(step / 2)
		soon("Extend", func() error { return lock.Extend(background, limits.DefaultTTL) })
		soon("re-entry", func() error {
			again, err := c.TryLock(lock.Context(), "held")
			if err == nil {
				err = again.Unlock(background)
			}
			return err
		})
		soon("Unlock", func() error { return lock.Unlock(background) })
		working.Wait()
		if took := time.Duration(longest.Load()); took > 4*step { // two steps for what was under way, and two of its own
			t.Errorf("one took %v, with %v for a batch", took, step)
		}
	})
}

// Masters are farther away than the time after which a renewal is tried again. Each is asked three times in a ttl all the same, also
// while another is dead.
func TestFarMastersAreRenewedNoOftener(t *testing.T) {
	t.Parallel()
	for dead := range 2 {
		t.Run(fmt.Sprint(dead, " dead"), func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				const ttl, trip, lasts = time.Second, 100 * time.Millisecond, 10 * time.Second
				d.moveAway(func() time.Duration { return trip })
				var asked [3]atomic.Int64
				of := map[string]int{}
				c := d.reached(WithTTL(ttl), WithObserver(Observer{MasterCalled: func(call MasterCall) { asked[of[call.Master]].Add(1) }}))
				for i := range d.masters {
					of[c.masters[i].Name] = i
				}
				if dead == 1 {
					d.masters[2].(farMaster).die()
				}
				lock := mustTry(t, c, "job")
				settled(t, c)
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
				must(t, lock.Unlock(background))
			})
		})
	}
}
