package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Readers under faults, and the faults that the read-write locks of others have had.

// Requests lost, replies lost, either delivered twice, connections cut: what the callers of a mutex
// are told holds for readers, and for a writer that becomes one.
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
				d, proxies := harness.Proxied(t, 5)
				c := harness.FaultClient(d)
				for i, action := range actions {
					for what, run := range map[string]func(*faulty){"read": (*faulty).read, "downgrade": (*faulty).downgrade} {
						underFault(t, d, c, proxies[:hit], harness.On(s, 1, action), fmt.Sprintf("job-%d-%s", i, what), run)
					}
				}
			})
		}
	}
}

func (s *faulty) read() {
	s.begin()
	lock, err := s.c.TryRLock(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.enterAgain(lock)
	s.end(lock)
}

func (s *faulty) downgrade() {
	s.begin()
	lock, err := s.c.TryLock(context.Background(), s.name, redlock.WithoutWatchdog())
	if err != nil {
		s.expect("lock", err)
		return
	}
	s.expect("downgrade", lock.Downgrade(context.Background()))
	s.expect("downgrade again", lock.Downgrade(context.Background()))
	s.enterAgain(lock)
	s.end(lock)
}

// What a reader asked for and arrives after its Unlock, or after it gave up, is refused.
func TestLateReadersCannotStand(t *testing.T) {
	t.Parallel()
	for what, late := range map[string]struct {
		on    *script.Operation
		held  int
		begin func(t *testing.T, c *redlock.Client) *redlock.Lock
	}{
		"a straggler": {script.Share, 1, func(t *testing.T, c *redlock.Client) *redlock.Lock { return harness.MustTryRead(t, c, "job") }},
		"an attempt that failed": {script.Share, 2, func(t *testing.T, c *redlock.Client) *redlock.Lock {
			_, err := c.TryRLock(context.Background(), "job")
			harness.RequireErr(t, err, redlock.ErrNoQuorum)
			return nil
		}},
		"a downgrade": {script.Stay, 1, func(t *testing.T, c *redlock.Client) *redlock.Lock {
			lock := harness.MustTry(t, c, "job")
			harness.Must(t, lock.Downgrade(context.Background()))
			return lock
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := harness.Proxied(t, 3)
			c, rival := harness.FaultClient(d), harness.FaultClient(d)
			var requests, releases []*faultproxy.Fault
			for _, p := range proxies[:late.held] {
				releases = append(releases, p.Add(harness.On(script.Undo, 1, faultproxy.Pass)))
				requests = append(requests, p.Add(harness.On(late.on, 1, faultproxy.HoldRequest)))
			}
			lock := late.begin(t, c)
			for _, r := range requests {
				harness.Within(t, "the request leaves", r.Seen())
			}
			if lock != nil {
				harness.Must(t, lock.Unlock(context.Background()))
			}
			for _, r := range releases {
				harness.Within(t, "the release is answered", r.Answered())
			}
			for _, r := range requests {
				r.Release()
				harness.Within(t, "the late one is answered", r.Answered())
			}
			if got := d.Holders("job"); got != "000" {
				t.Errorf("held on %s", got)
			}
			harness.UnlockAll(t, harness.MustTry(t, rival, "job"))
		})
	}
}

func TestLateRestoreCannotStand(t *testing.T) {
	t.Parallel()
	lateWriteBackCannotStand(t, script.Restore, harness.MustTryRead)
}

// Readers are granted, renewed and written back by voting members at their version only; and a
// master that lost a counter is none.
func TestReadersNeedVotingMembers(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		d.Reached()
		r := d.Raw[0]
		h := &lease.Owner{ID: "r", Keys: script.KeysOf(limits.DefaultPrefix, "job", "r"), Last: 1}
		h.Reads.Store(true)
		terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
		calls := []script.Call{h.AcquireCall(terms, lease.Place{}), h.ExtendCall(terms), h.ConfirmCall(1), h.RepairCall(1, terms)}
		for _, call := range calls {
			if _, err := harness.CallAt(script.BatchSource, r, "another version", call); err == nil || err.Error()[:7] != "VERSION" {
				t.Errorf("%s at another version: %v", call.Name, err)
			}
		}
		if got := d.Holders("job"); got != "0" {
			t.Errorf("held on %s", got)
		}
		harness.Must(t, r.Del(context.Background(), h.Keys.Fence).Err())
		if _, err := harness.CallIn(script.BatchSource, r, calls[0]); err == nil || err.Error()[:9] != "NOTMEMBER" {
			t.Errorf("a master without its counter: %v", err)
		}
		if got := d.Holders("job"); got != "0" {
			t.Errorf("held on %s", got)
		}
		if r.HExists(context.Background(), script.RegisterKey(limits.DefaultPrefix), "votes").Val() {
			t.Error("it is a voting member yet")
		}
	})
}

// Reads go on while members leave and come back, and keep writers out at every version.
func TestReadersWhileMembersChange(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		operator, c := d.Reached(), d.Reached()
		lock, downgraded := harness.MustTryRead(t, c, "job"), harness.MustTry(t, c, "other")
		harness.Must(t, downgraded.Downgrade(context.Background()))
		for _, change := range []membership.Change{harness.SuspendMember(d.Address(0)), harness.ResumeMember(d.Address(0)), harness.SuspendMember(d.Address(1)), harness.ResumeMember(d.Address(1))} {
			harness.Must(t, harness.ChangeMembers(context.Background(), operator, change, nil))
			time.Sleep(limits.DefaultTTL)
			for _, name := range []string{"job", "other"} {
				_, err := operator.TryLock(context.Background(), name)
				harness.RequireErr(t, err, redlock.ErrHeld)
			}
		}
		harness.UnlockAll(t, lock, downgraded)
		harness.UnlockAll(t, harness.MustTry(t, operator, "job"), harness.MustTry(t, operator, "other"))
	})
}
