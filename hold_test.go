package redlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// LEASE (spec/exclusion.pml): an answer that comes when the lease is over does not
// revive it, whether its timer has fired yet or not. (The lock delay lets the masters
// keep the lock, so that nothing but the rule is in the way.)
func TestALateAnswerRevivesNothing(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(d *deployment, c *Client, lock *Lock) error{
		"extend": func(d *deployment, c *Client, lock *Lock) error {
			now := c.now()
			for i := range 3 {
				expiry := lock.h.Master(i).Expiry
				lock.h.Take(i, lease.ToExtend, script.Vote{Heard: true, Answer: script.Granted, Sent: now, Got: now, Remaining: expiry.Lo.Sub(now)}, lock.h.Terms(), c.members.View())
			}
			return lock.h.Over()
		},
		"re-entry": func(d *deployment, c *Client, lock *Lock) error {
			_, err := c.TryLock(lock.Context(), "job")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached()
				lock := mustTry(t, c, "job", WithTTL(10*time.Second), WithLockDelay(45*time.Second), WithoutWatchdog())
				synctest.Wait()                      // all have voted
				d.slept.Add(int64(20 * time.Second)) // the timer knows nothing of it yet
				err := late(d, c, lock)
				if lock.Valid() {
					t.Errorf("a lease that was over is valid again (%v)", err)
				}
				requireErr(t, lock.Unlock(background), ErrExpired)
			})
		})
	}
}

// The same for a straggler of the acquisition. It is the owner's there all the
// same, so the release must know.
func TestALateAcquireRevivesNothing(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		d.masters[2].freeze()
		a := c.prepare(c.members.View(), "job", c.config.lock, nowhere)
		a.h.Send(&a.asked, a.call)
		lock, err := c.conclude(background, a)
		must(t, err)
		d.slept.Add(int64(limits.DefaultTTL))
		now := c.now()
		a.asked.Answer(2, script.Vote{Heard: true, Answer: script.Granted, Grant: int64(lock.Token()), Sent: now, Got: now})
		s := lock.h.Master(2)
		if s.Until != 0 || !s.Granted {
			t.Errorf("counts until %v, granted: %v; want no vote and a grant", time.Duration(s.Until), s.Granted)
		}
		d.masters[2].thaw()
		requireErr(t, lock.Unlock(background), ErrExpired)
	})
}

// A request that is sent again counts from its first sending, and Until says no more
// than that.
func TestALeaseCountsFromTheFirstSending(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		var broken atomic.Bool
		d.masters[0] = brokenMaster{d.masters[0], d, &broken}
		c := d.client(WithTTL(10*time.Second), WithoutWatchdog())
		must(t, mustTry(t, c, "reaching").Unlock(background))
		synctest.Wait()
		broken.Store(true)
		start, sentAt := c.now(), time.Now()
		lock := mustTry(t, c, "job")
		if c.now().Sub(start) < time.Second {
			t.Fatal("the connection did not break")
		}
		want := lock.h.Terms().ValidUntil(start)
		if got := lock.h.Until(); got != want {
			t.Errorf("the lease is %v too long", got.Sub(want))
		}
		// The clock has run a second more than time.Now.
		if got, want := lock.Until(), sentAt.Add(want.Sub(start)-time.Second); !got.Equal(want) {
			t.Errorf("Until is %v too late", got.Sub(want))
		}
		must(t, lock.Unlock(background))
	})
}

// brokenMaster is one whose next reply does not come, once, because its connection
// breaks after a second.
type brokenMaster struct {
	testMaster
	d      *deployment
	broken *atomic.Bool
}

func (m brokenMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return brokenConn{conn, m} })
}

type brokenConn struct {
	net.Conn
	master brokenMaster
}

func (c brokenConn) Read(p []byte) (int, error) {
	if c.master.broken.Swap(false) {
		c.master.d.slept.Add(int64(time.Second))
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// The lock expired on two masters, and was granted again to a late copy of the
// owner's acquire: it is the owner's, but what stood between may have been a rival's, and
// another copy may come yet.
func TestAReEntryAsksForTheGrant(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		for granted, want := range map[int]error{1: nil, 2: ErrNotAcquired} {
			name := fmt.Sprint("job ", granted)
			lock := mustTry(t, c, name, WithoutWatchdog())
			synctest.Wait() // all have voted
			for i := range granted {
				is := lockOn(t, d.raw[i], name)
				other := storedLock{is.owner, is.depth, fmt.Sprint(lock.Token() + 1), is.token, is.waited}.String()
				must(t, d.raw[i].Set(background, lock.h.Keys.Lock, other, redis.KeepTTL).Err())
			}
			inner, err := c.TryLock(lock.Context(), name)
			if !errors.Is(err, want) {
				t.Errorf("granted again on %d of 3: got %v, want %v", granted, err, want)
			}
			if err == nil {
				must(t, inner.Unlock(background))
				must(t, lock.Unlock(background))
			}
			settled(t, c)
			for i, r := range d.raw { // another copy may come
				if marked := r.Exists(background, lock.h.Keys.Gone).Val() == 1; marked != (i < granted) {
					t.Errorf("granted again on %d of 3: the release leaves a mark on master %d: %v", granted, i, marked)
				}
			}
		}
	})
}

// When a master says "not yours", and too few others are left, the holder is told then, and not when the next renewal is
// due; nor before, when enough are left.
func TestAHolderIsToldWhenTooFewMastersAreLeft(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithTTL(9*time.Second))
		synctest.Wait() // all have voted
		disown := func(master int) {
			time.Sleep(time.Millisecond)
			now := c.now()
			lock.h.Take(master, lease.ToExtend, testvotes.NotMine(now), lock.h.Terms(), c.members.View())
			synctest.Wait()
		}
		disown(0)
		must(t, context.Cause(lock.Context()))
		disown(1)
		if cause := context.Cause(lock.Context()); cause != ErrLost {
			t.Errorf("two of three say \"not yours\", and the context has ended with %v", cause)
		}
		if over := time.Since(lock.Until()); over != 0 {
			t.Errorf("the lease was over %v ago, want now", over)
		}
	})
}

// A driver with go-redis's defaults may write a request for the last time after
// four dials of 5 s and three replies that did not come in 3 s.
func TestAMarkOutlastsWhatADriverHas(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithTTL(10*time.Second))
		synctest.Wait() // all have voted
		lock.h.Take(0, lease.ToReenter, script.Vote{Heard: true, Answer: script.Unknown, Doubt: true}, lock.h.Terms(), c.members.View())
		must(t, lock.Unlock(background))
		synctest.Wait()
		time.Sleep(4*5*time.Second + 3*3*time.Second)
		if err := acquireAgain(d, 0, lock.h); !redis.HasErrorPrefix(err, "GONE") {
			t.Errorf("an acquire that comes after its release is answered %v", err)
		}
	})
}

// acquireAgain is a second copy of a hold's acquire.
func acquireAgain(d *deployment, master int, h *lease.Hold) error {
	_, err := callIn(script.BatchSource, d.raw[master], h.AcquireCall(h.Terms(), nowhere))
	return err
}

// A hold that a quorum disowned was lost, not expired, whoever notices it first:
// the round that heard it, the timer, or an Unlock between the two.
func TestALostHoldIsNotCalledExpired(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		for _, x := range []struct {
			lost int
			want error
		}{{3, ErrLost}, {2, nil}} {
			lock := mustTry(t, c, fmt.Sprintf("job %d", x.lost), WithoutWatchdog())
			synctest.Wait() // all five have voted
			now := c.now()
			for i := range x.lost {
				lock.h.Take(i, lease.ToExtend, testvotes.NotMine(now), lock.h.Terms(), c.members.View())
			}
			if err := lock.Unlock(background); err != x.want {
				t.Errorf("%d of 5 said \"not yours\": got %v, want %v", x.lost, err, x.want)
			}
		}
	})
}

// A confirm that finds the grant gone tells nothing of a second copy of the acquire,
// which may have been granted again or may be yet: the release leaves a mark.
func TestAConfirmsNoIsADoubt(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		must(t, d.raw[2].IncrBy(background, script.KeysOf(limits.DefaultPrefix, "job", "").Fence, 100).Err())
		a := c.prepare(c.members.View(), "job", c.config.lock, nowhere)
		a.h.Send(&a.asked, a.call)
		// All have voted when it is settled, 0 and 1 too low.
		d.drop(c, "job", 0)
		must(t, acquireAgain(d, 0, a.h))
		d.masters[1].freeze() // so that 0 is heard before the verdict
		time.AfterFunc(10*time.Millisecond, d.masters[1].thaw)
		lock, err := c.conclude(background, a)
		must(t, err)
		must(t, lock.Unlock(background))
		synctest.Wait()
		if got := d.holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
		if err := acquireAgain(d, 0, a.h); !redis.HasErrorPrefix(err, "GONE") {
			t.Errorf("an acquire that comes after its release is answered %v", err)
		}
	})
}

// A master grants, and its memory is full when it is to confirm, or it does not answer then. The lock is had
// as soon as another one grants, with a token that is made of all votes.
func TestAMasterThatGrantsAndCannotConfirm(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim    string
		counters [5]int64 // above what they are anyway
		full     int      // the first so many of the masters cannot confirm
		lost     int      // the next so many lose the lock before they are to confirm
		silent   int      // the next so many do not answer
		late     int      // the last so many answer late
		want     string   // who has the lock, while it is held
	}{
		{"the late one stands at the token", [5]int64{0, 9, 9, 9, 9}, 1, 0, 0, 2, "11111"},
		{"it confirms", [5]int64{0, 0, 9, 9, 0}, 1, 0, 0, 2, "11111"},
		{"it has the highest number, and all others confirm", [5]int64{0, 3, 3, 9, 9}, 1, 0, 0, 2, "11111"},
		{"one vote is taken back", [5]int64{0, 0, 9, 0, 0}, 0, 1, 0, 2, "01111"},
		{"two votes are taken back, and two more are needed", [5]int64{0, 0, 9, 9, 9}, 0, 2, 0, 2, "00111"},
		{"too many cannot confirm", [5]int64{0, 3, 3, 9, 9}, 3, 0, 0, 2, ""},
		{"one is silent, and the late ones stand", [5]int64{0, 3, 3, 3, 3}, 0, 0, 1, 2, "11111"},
		{"one is silent, and the late ones confirm", [5]int64{0, 0, 9, 0, 0}, 0, 0, 1, 2, "11111"},
		{"one is silent, and the late ones have the highest number", [5]int64{0, 3, 3, 6, 9}, 0, 0, 1, 2, "11111"},
		{"too many are silent", [5]int64{0, 3, 3, 9, 6}, 0, 0, 3, 2, ""},
	} {
		t.Run(x.claim, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
				c := d.reached()
				top := int64(0)
				for i, more := range x.counters {
					must(t, d.raw[i].IncrBy(background, script.KeysOf(limits.DefaultPrefix, "job", "").Fence, 100*more).Err())
				}
				first := len(d.masters) - x.late
				for _, m := range d.masters[first:] {
					m.freeze()
				}
				a := c.prepare(c.members.View(), "job", c.config.lock, nowhere)
				a.h.Send(&a.asked, a.call)
				eventually(t, "a quorum has granted", a.asked.Won)
				for i, r := range d.raw[:first] {
					switch {
					case i < x.full:
						must(t, r.ConfigSet(background, "maxmemory", "1").Err())
					case i < x.full+x.lost:
						must(t, r.Del(background, a.h.Keys.Lock).Err())
					case i < x.full+x.lost+x.silent:
						d.masters[i].freeze()
					}
				}
				asked := c.now()
				time.AfterFunc(10*time.Millisecond, func() {
					for _, m := range d.masters[first:] {
						m.thaw()
					}
				})
				lock, err := c.conclude(background, a)
				took := c.now().Sub(asked)
				for _, m := range d.masters[:x.silent] {
					m.thaw()
				}
				if x.want == "" {
					requireErr(t, err, ErrNoQuorum)
					return
				}
				must(t, err)
				synctest.Wait()
				if took > 50*time.Millisecond && (x.silent == 0 || took > c.requestTimeout/2) {
					t.Errorf("it took %v", took)
				}
				if got := d.holders("job"); got != x.want {
					t.Errorf("held on %s, want %s", got, x.want)
				}
				standing := 0
				for _, r := range d.raw {
					counter, err := r.Get(background, lock.h.Keys.Fence).Int64()
					must(t, err)
					if top = max(top, counter); counter >= int64(lock.Token()) {
						standing++
					}
				}
				if int64(lock.Token()) != top || standing < 3 {
					t.Errorf("token %v, of which %d masters know; the highest counter is %d", lock.Token(), standing, top)
				}
				must(t, lock.Unlock(background))
			})
		})
	}
}

// When several votes are taken back at once, as many more are waited for.
func TestMoreGrantsAreAQuorum(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		for i, m := range d.masters[3:] {
			m.freeze()
			time.AfterFunc(time.Duration(i+1)*10*time.Millisecond, m.thaw)
		}
		a := c.prepare(c.members.View(), "job", c.config.lock, nowhere)
		a.h.Send(&a.asked, a.call)
		must(t, c.await(background, &a.asked, a.deadline))
		votes := a.asked.Tally()
		gone := script.Vote{Heard: true, Answer: script.Refused, Err: script.ErrNotMine}
		a.takeBack([]script.Vote{gone, gone, {}, {}, {}}, votes)
		if more, err := a.moreGrants(background, votes, a.deadline); !more || err != nil || votes[3].Answer != script.Granted || votes[4].Answer != script.Granted {
			t.Errorf("it goes on with %v", votes)
		}
		a.giveUp(nowhere)
	})
}

// Who is told by a call that the hold is over finds the contexts under it done, however many
// there are.
func TestAnEndIsSeenInAllContextsAtOnce(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		lock := mustTry(t, d.client(), "job", WithoutWatchdog())
		under := make([]context.Context, 20_000)
		for i := range under {
			var cancel context.CancelFunc
			under[i], cancel = context.WithCancel(lock.Context())
			defer cancel()
		}
		go lock.h.End(ErrLost)
		for lock.h.Over() == nil {
			runtime.Gosched()
		}
		for i, ctx := range under {
			if ctx.Err() == nil {
				t.Fatalf("context %d is not done", i)
			}
		}
	})
}

// A clock that jumps is told while the lock is still there. A jump forward beyond what is left of the lease ends the
// lock on its master, which then looks as if the key had been deleted: it answers "not yours", and the lock is written
// back. Nothing is told while the others are a quorum; else the hold is lost.
func TestAJumpBeyondTheLeaseIsALostLock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		c := d.reached(WithObserver(Observer{
			ClockJumped:   func(_ context.Context, j ClockJump) { events.note("jumped %v", j.By) },
			RenewalFailed: func(_ context.Context, f FailedRenewal) { events.note("failed %v", f.Err) },
		}))
		lock := mustTry(t, c, "job", WithTTL(10*time.Second), WithoutWatchdog())
		settled(t, c)
		renew := func() error {
			defer settled(t, c)
			return lock.Extend(background, 10*time.Second)
		}
		clock := func(i int, ahead time.Duration) { d.masters[i].(embeddedMaster).SetClock(ahead) }
		clock(0, 5*time.Second)
		must(t, renew())
		if n := events.count("jumped"); n != 1 {
			t.Errorf("%d jumps are told of a clock that jumped within the lease", n)
		}
		clock(0, time.Hour)
		must(t, renew())
		if lock.h.Master(0).Granted {
			t.Error("the lock did not end with the jump")
		}
		must(t, renew())
		if got := d.holders("job"); got != "111" {
			t.Errorf("held on %s: it was not repaired", got)
		}
		must(t, renew())
		counted(t, lock, 0)
		if events.count("") != 1 {
			t.Errorf("told: %v", events.events)
		}
		clock(1, time.Hour)
		clock(2, time.Hour)
		requireErr(t, renew(), ErrLost)
		if events.count("") != 1 {
			t.Errorf("told: %v", events.events)
		}
	})
}
