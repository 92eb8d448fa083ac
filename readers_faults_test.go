package redlock

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Readers under faults, and the faults that the read-write locks of others have had.

// Requests lost, replies lost, either delivered twice, connections cut: what the callers of a mutex are
// told holds for readers, and for a writer that becomes one.
func TestEveryFaultOnReaders(t *testing.T) {
	t.Parallel()
	actions := []faultproxy.Action{
		faultproxy.DropRequest, faultproxy.DropReply, faultproxy.DuplicateRequest,
		faultproxy.CutBeforeRequest, faultproxy.CutAfterRequest, faultproxy.CutRequestAt(100), faultproxy.CutReplyAt(1),
	}
	for _, hit := range []int{1, 3} {
		for _, s := range []*script.Operation{script.Share, script.Stay, script.Undo} {
			t.Run(fmt.Sprintf("%s on %d of 5", s.Name, hit), func(t *testing.T) {
				t.Parallel()
				d, proxies := proxied(t, 5)
				c := faultClient(d)
				for i, action := range actions {
					for what, run := range map[string]func(*faulty){"read": (*faulty).read, "downgrade": (*faulty).downgrade} {
						underFault(t, d, c, proxies[:hit], on(s, 1, action), fmt.Sprintf("job-%d-%s", i, what), run)
					}
				}
			})
		}
	}
}

func (s *faulty) read() {
	s.begin()
	lock, err := s.c.TryRLock(background, s.name, WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.enterAgain(lock)
	s.end(lock)
}

func (s *faulty) downgrade() {
	s.begin()
	lock, err := s.c.TryLock(background, s.name, WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.expect("downgrade", lock.Downgrade(background))
	s.expect("downgrade again", lock.Downgrade(background))
	s.enterAgain(lock)
	s.end(lock)
}

// What a reader asked for and arrives after its Unlock, or after it gave up, is refused.
func TestLateReadersCannotStand(t *testing.T) {
	t.Parallel()
	for what, late := range map[string]struct {
		on    *script.Operation
		held  int
		begin func(t *testing.T, c *Client) *Lock
	}{
		"a straggler": {script.Share, 1, func(t *testing.T, c *Client) *Lock { return mustTryRead(t, c, "job") }},
		"an attempt that failed": {script.Share, 2, func(t *testing.T, c *Client) *Lock {
			_, err := c.TryRLock(background, "job")
			requireErr(t, err, ErrNoQuorum)
			return nil
		}},
		"a downgrade": {script.Stay, 1, func(t *testing.T, c *Client) *Lock {
			lock := mustTry(t, c, "job")
			must(t, lock.Downgrade(background))
			return lock
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := proxied(t, 3)
			c, rival := faultClient(d), faultClient(d)
			var requests, releases []*faultproxy.Fault
			for _, p := range proxies[:late.held] {
				releases = append(releases, p.Add(on(script.Undo, 1, faultproxy.Pass)))
				requests = append(requests, p.Add(on(late.on, 1, faultproxy.HoldRequest)))
			}
			lock := late.begin(t, c)
			for _, r := range requests {
				within(t, "the request leaves", r.Seen())
			}
			if lock != nil {
				must(t, lock.Unlock(background))
			}
			for _, r := range releases {
				within(t, "the release is answered", r.Answered())
			}
			for _, r := range requests {
				r.Release()
				within(t, "the late one is answered", r.Answered())
			}
			if got := d.holders("job"); got != "000" {
				t.Errorf("held on %s", got)
			}
			unlockAll(t, mustTry(t, rival, "job"))
		})
	}
}

func TestLateRestoreCannotStand(t *testing.T) {
	t.Parallel()
	lateWriteBackCannotStand(t, script.Restore, mustTryRead)
}

// Readers are granted, renewed and written back by voting members at their version only; and a
// master that lost a counter is none.
func TestReadersNeedVotingMembers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		d.reached()
		r := d.raw[0]
		h := &lease.Owner{ID: "r", Keys: script.KeysOf(limits.DefaultPrefix, "job", "r"), Last: 1}
		h.Reads.Store(true)
		terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
		calls := []script.Call{h.AcquireCall(terms, nowhere), h.ExtendCall(terms), h.ConfirmCall(1), h.RepairCall(1, terms)}
		for _, call := range calls {
			if _, err := callAt(script.BatchSource, r, "another version", call); err == nil || err.Error()[:7] != "VERSION" {
				t.Errorf("%s at another version: %v", call.Name, err)
			}
		}
		if got := d.holders("job"); got != "0" {
			t.Errorf("held on %s", got)
		}
		must(t, r.Del(background, h.Keys.Fence).Err())
		if _, err := callIn(script.BatchSource, r, calls[0]); err == nil || err.Error()[:9] != "NOTMEMBER" {
			t.Errorf("a master without its counter: %v", err)
		}
		if got := d.holders("job"); got != "0" {
			t.Errorf("held on %s", got)
		}
		if r.HExists(background, script.RegisterKey(limits.DefaultPrefix), "votes").Val() {
			t.Error("it is a voting member yet")
		}
	})
}

// Reads go on while members leave and come back, and keep writers out at every version.
func TestReadersWhileMembersChange(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		operator, c := d.reached(), d.reached()
		lock, downgraded := mustTryRead(t, c, "job"), mustTry(t, c, "other")
		must(t, downgraded.Downgrade(background))
		for _, change := range []membership.Change{suspendMember(d.address(0)), resumeMember(d.address(0)), suspendMember(d.address(1)), resumeMember(d.address(1))} {
			must(t, operator.changeMembers(background, change, nil))
			time.Sleep(limits.DefaultTTL)
			for _, name := range []string{"job", "other"} {
				_, err := operator.TryLock(background, name)
				requireErr(t, err, ErrHeld)
			}
		}
		unlockAll(t, lock, downgraded)
		unlockAll(t, mustTry(t, operator, "job"), mustTry(t, operator, "other"))
	})
}

// A reader that entered several times and died keeps writers out for one ttl, not for one an entry.
func aReEnteredReaderThatDies(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	outer := mustTryRead(t, a, "job", WithTTL(d.ttl()), WithoutWatchdog())
	for range 4 {
		_, err := a.TryRLock(outer.Context(), "job", WithTTL(d.ttl()))
		must(t, err)
	}
	settled(t, a)
	start := time.Now()
	writer, err := b.Lock(background, "job")
	must(t, err)
	if took := time.Since(start); took > d.ttl()+d.ttl()/2 {
		t.Errorf("the writer got in after %v, the ttl is %v", took, d.ttl())
	}
	must(t, writer.Unlock(background))
}

// All readers of a client are renewed, not only the one that came last.
func manyReadersAreRenewed(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	var locks []*Lock
	for range 20 {
		locks = append(locks, mustTryRead(t, c, "job", WithTTL(d.ttl())))
	}
	time.Sleep(2 * d.ttl())
	for i, l := range locks {
		if i%2 == 0 {
			must(t, l.Unlock(background)) // ends nobody else's renewals
		}
	}
	time.Sleep(2 * d.ttl())
	for i, l := range locks {
		if i%2 == 1 {
			must(t, l.Unlock(background))
		}
	}
}

// A reader with a short lease cuts nobody's, whether it ends or leaves.
func aShortReaderCutsNoOther(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	long := mustTryRead(t, a, "job", WithTTL(20*time.Second), WithoutWatchdog())
	mustTryRead(t, b, "job", WithTTL(d.ttl()), WithoutWatchdog()) // ends
	must(t, mustTryRead(t, b, "job", WithTTL(d.ttl())).Unlock(background))
	time.Sleep(d.ttl() + d.ttl()/2)
	_, err := b.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	if !long.Valid() {
		t.Error("not valid")
	}
	must(t, long.Unlock(background))
	unlockAll(t, mustTry(t, b, "job"))
}

// Nothing renews a reader that was unlocked, however often it had entered.
func anUnlockedReaderIsNotRenewed(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	outer := mustTryRead(t, c, "job", WithTTL(d.ttl()))
	var inner []*Lock
	for range 3 {
		one, err := c.TryRLock(outer.Context(), "job")
		must(t, err)
		inner = append(inner, one)
	}
	unlockAll(t, inner...)
	must(t, outer.Unlock(background))
	settled(t, c) // an Unlock waits for a quorum
	for end := time.Now().Add(2 * d.ttl()); time.Now().Before(end); time.Sleep(d.ttl() / 20) {
		if got := d.holders("job"); got != "000" {
			t.Fatalf("it stands on %s", got)
		}
	}
	if n := len(c.holds.All()); n != 0 {
		t.Errorf("the client has %d holds", n)
	}
}

// A release wakes the writer that waits, and not the end of the lease: of several, one after the other.
func aReleaseWakesTheWriters(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	start := time.Now()
	var all sync.WaitGroup
	for _, c := range []*Client{a, b, a, b} {
		all.Go(func() {
			lock, err := c.Lock(background, "job")
			if err != nil {
				t.Error(err)
				return
			}
			check(t, lock.Downgrade(background))
			time.Sleep(10 * time.Millisecond)
			check(t, lock.Unlock(background))
		})
	}
	all.Wait()
	if took := time.Since(start); took > limits.DefaultTTL/4 {
		t.Errorf("four writers took %v", took)
	}
}
