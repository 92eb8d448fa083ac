package redlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

func TestTheNameOfAProgramIsShort(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithName(strings.Repeat("x", maxProgramName+1)))
	requireErr(t, err, ErrBadOption)
	if !strings.Contains(err.Error(), "client's name of 257 bytes") {
		t.Error(err)
	}
}

// What must arrive is tried for as long as it is of use, and not for as long as
// the master is gone.
func TestWhatADeadMasterWasToBeToldEnds(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		d.masters[0].die()
		dead := c.masters[0]
		leave := c.leaveRequest("job", &c.channel)
		leave.Until = c.now().Add(script.QueueTTL)
		wanted := c.leaveRequest("wanted", &c.channel)
		wanted.Until, wanted.Policy = leave.Until, obsoleteIf(func(int) bool { return true })
		dead.Submit(leave)
		eventually(t, "kept", func() bool { return dead.Pending() == 1 })
		dead.Submit(wanted)
		time.Sleep(script.QueueTTL / 2)
		synctest.Wait()
		if n := dead.Pending(); n != 1 {
			t.Errorf("%d requests are kept, want the one that is of use", n)
		}
		time.Sleep(script.QueueTTL)
		synctest.Wait()
		if n := dead.Pending(); n != 0 {
			t.Errorf("%d requests are kept for ever", n)
		}
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

// tappedMaster is a master whose clients' subscriptions can be broken, and nothing
// else.
type tappedMaster struct {
	testMaster
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

func (m *tappedMaster) options() *redis.Options {
	return wrapped(m.testMaster, func(conn net.Conn) net.Conn { return tappedConn{conn, m} })
}

func (m *tappedMaster) breakSubscriptions() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.subs {
		_ = conn.Close()
	}
	m.subs = nil
}

// tapped makes the masters of d such that what gives d.client from now on can be
// broken, by the function that it returns.
func tapped(d *deployment) (breakSubscriptions func()) {
	var all []*tappedMaster
	for i := range d.masters {
		m := &tappedMaster{testMaster: d.masters[i]}
		d.masters[i] = m
		all = append(all, m)
	}
	return func() {
		for _, m := range all {
			m.breakSubscriptions()
		}
	}
}

// A waiter sleeps until it is called, for up to 20 s. A release at which its
// subscriptions were broken must not cost it that.
func TestACallThatIsLostIsMadeUpFor(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		a := d.reached()
		breakSubscriptions := tapped(d)
		b := d.reached()
		for range 3 {
			held := mustTry(t, a, "job")
			settled(t, a)
			got := goLock(t, b, "job")
			time.Sleep(maxAskInterval)
			start := time.Now()
			breakSubscriptions()
			must(t, held.Unlock(background))
			must(t, have(t, got).Unlock(background))
			settled(t, b)
			if took := time.Since(start); took > standByPause+20*time.Millisecond { // some masters may keep it for the subscription that broke
				t.Errorf("it had the lock %v after the release", took)
			}
		}
	})
}

// When subscriptions break, each waiter asks again soon, but not all at once.
func TestWaitersAskOneAfterTheOtherWhenSubscriptionsBreak(t *testing.T) {
	t.Parallel()
	const names = 200
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a := d.reached()
		breakSubscriptions := tapped(d)
		var mu sync.Mutex
		var since time.Time
		asked := map[string][]time.Duration{}
		b := d.reached(WithObserver(Observer{AttemptFailed: func(_ context.Context, a FailedAttempt) {
			mu.Lock()
			defer mu.Unlock()
			asked[a.Name] = append(asked[a.Name], time.Since(since))
		}}))
		ctx, giveUp := context.WithCancel(background)
		var all sync.WaitGroup
		for i := range names {
			mustTry(t, a, strconv.Itoa(i))
		}
		settled(t, a) // all are held on all masters
		for i := range names {
			all.Go(func() { _, _ = b.Lock(ctx, strconv.Itoa(i)) })
		}
		time.Sleep(maxAskInterval)
		mu.Lock()
		since = time.Now()
		clear(asked)
		mu.Unlock()
		breakSubscriptions()
		time.Sleep(time.Second)
		mu.Lock()
		var first []time.Duration
		for name, at := range asked {
			if first = append(first, at[0]); len(at) > 3 {
				t.Errorf("for %s it asked %d times", name, len(at))
			}
		}
		mu.Unlock()
		if len(first) != names {
			t.Errorf("it asked for %d names of %d", len(first), names)
		}
		const share = names * spreadEach / 10
		slices.Sort(first)
		for i, at := range first {
			if n := i + 1 - slices.IndexFunc(first, func(t time.Duration) bool { return t > at-share }); n > names/4 {
				t.Errorf("it asked for %d names within %v, and for all %d within %v", n, share, names, first[len(first)-1])
				break
			}
		}
		giveUp()
		all.Wait()
	})
}

// The lock of a holder that died is had at the end of its lease, though nobody is
// called and a waiter asks seldom.
func TestADeadHoldersLockIsHadAtTheEndOfItsLease(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		for _, ttl := range []time.Duration{8 * time.Second, limits.DefaultTTL, limits.DefaultMaxTTL} {
			start := time.Now()
			mustTry(t, a, "job", WithTTL(ttl), WithoutWatchdog())
			settled(t, a) // it holds the lock on all masters
			must(t, have(t, goLock(t, b, "job")).Unlock(background))
			settled(t, b)
			if late := time.Since(start) - ttl; late < 0 || late > 5*time.Millisecond {
				t.Errorf("ttl %v: had %v after its end", ttl, late)
			}
		}
	})
}

// Those who miss nothing ask in the last quarter of their interval, and many at once.
func TestCoveredPause(t *testing.T) {
	t.Parallel()
	const now = clock.Instant(12345678987654321)
	for _, random := range []float64{0, .1, .5, .999999} {
		pause := coveredPause(now, random)
		if pause <= (coveredInterval-askTogether)*3/4 || pause > coveredInterval || time.Duration(now.Add(pause))%askTogether != 0 {
			t.Errorf("random %v: pauses for %v, until %v", random, pause, now.Add(pause))
		}
	}
}

// notAdmittedFault is such an error, as package membership makes them.
type notAdmittedFault struct{}

func (notAdmittedFault) Error() string { return "it is none of the members" }

func (notAdmittedFault) Is(target error) bool {
	return target == ErrNotMember || target == membership.ErrNotAdmitted
}

func TestLasting(t *testing.T) {
	t.Parallel()
	var (
		noAuth    = fmt.Errorf("failed to connect: %w", replied("NOAUTH Authentication required."))
		wrongPass = replied("WRONGPASS invalid username-password pair or user is disabled.")
		noPerm    = replied("NOPERM this user has no permissions to run the 'evalsha' command")
		stranger  = notAdmittedFault{}
		isNew     = fmt.Errorf("%w: it is new, and does not vote yet", ErrNotMember)
		distrust  = &masterurl.TLSError{}
		down      = errors.New("connection refused")
		oom       = replied("OOM command not allowed when used memory > 'maxmemory'.")
		noDB      = replied("ERR DB index is out of range")
		busy      = replied("BUSY Redis is busy running a script.")
		text      = errors.New("NOAUTH, says something that is no server")
	)
	for _, c := range []struct {
		what   string
		reason error
		need   int
		votes  []error // nil: granted
		want   bool
	}{
		{"all refuse the password", ErrNoQuorum, 2, []error{noAuth, noAuth, noAuth}, true},
		{"none has the database", ErrNoQuorum, 2, []error{noDB, noDB, noDB}, true},
		{"a quorum does", ErrNoQuorum, 2, []error{nil, wrongPass, wrongPass}, true},
		{"a minority does", ErrNoQuorum, 2, []error{nil, down, wrongPass}, false},
		{"each for another reason", ErrNoQuorum, 3, []error{noAuth, noPerm, stranger, down, nil}, true},
		{"the others are just enough", ErrNoQuorum, 3, []error{noAuth, noPerm, isNew, down, nil}, false},
		{"no trust", ErrNoQuorum, 2, []error{distrust, distrust, nil}, true},
		{"none is admitted", ErrNoQuorum, 2, []error{stranger, stranger, stranger}, true},
		{"too few of the members are given", ErrNoQuorum, 3, []error{nil, nil}, true},
		{"new members", ErrNoQuorum, 2, []error{isNew, isNew, isNew}, false},
		{"all are down", ErrNoQuorum, 2, []error{down, down, down}, false},
		{"out of memory", ErrNoQuorum, 2, []error{oom, oom, oom}, false},
		{"busy", ErrNoQuorum, 2, []error{busy, busy, busy}, false},
		{"not heard in time", ErrNoQuorum, 2, []error{quorum.ErrNoAnswer, quorum.ErrNotAwaited, wrongPass}, false},
		{"another version", ErrNoQuorum, 2, []error{script.ErrVersion, script.ErrVersion, nil}, false},
		{"a text that is no reply", ErrNoQuorum, 2, []error{text, text, text}, false},
		{"it is held", ErrHeld, 2, []error{noAuth, noAuth, nil}, false},
		{"too slow", ErrTooSlow, 2, []error{nil, nil, nil}, false},
	} {
		q := &QuorumError{Op: opAcquire, Reason: c.reason, Need: c.need}
		for _, err := range c.votes {
			q.Votes = append(q.Votes, Vote{Err: printable.Error(err)})
		}
		if got := lasting(errors.Join(ErrNotAcquired, q)); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		if !lasting(errors.Join(q, ErrNeedsInit)) {
			t.Errorf("%s, and it needs init: not lasting", c.what)
		}
	}
	for _, err := range []error{ErrNotAcquired, ErrHeld, ErrClosed, context.Canceled} {
		if lasting(err) {
			t.Errorf("%v is lasting", err)
		}
	}
}
