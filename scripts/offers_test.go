package scripts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// offering is a lock "job" that h has, and one "w" who waits for it on the channel "w".
type offering struct {
	t    *testing.T
	r    *redis.Client
	h, w *lease.Owner
	in   lease.Place
	sub  *redis.PubSub
}

// newOffering makes server r a member with such a lock. "w" offers to take a grant of so many ms.
func newOffering(t *testing.T, r *redis.Client, takes time.Duration) offering {
	t.Helper()
	harness.Must(t, r.FlushAll(context.Background()).Err())
	harness.Must(t, memberOfOne(r))
	channel := "w"
	o := offering{t: t, r: r,
		h:   &lease.Owner{ID: "h", Keys: script.KeysOf(limits.DefaultPrefix, "job", "h")},
		w:   &lease.Owner{ID: "w", Keys: script.KeysOf(limits.DefaultPrefix, "job", "w")},
		in:  lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf("1500000000000000"), Takes: takes},
		sub: r.Subscribe(context.Background(), channel),
	}
	t.Cleanup(func() { _ = o.sub.Close() })
	_, err := o.sub.Receive(context.Background())
	harness.Must(t, err)
	harness.Must(t, r.Set(context.Background(), o.h.Keys.Fence, 100, 0).Err())
	o.call(o.h.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), lease.Place{}))
	o.call(o.w.AcquireCall(quorum.TermsOf(limits.DefaultTTL, 0, 0), o.in))
	return o
}

func (o offering) call(c script.Call) {
	o.t.Helper()
	o.callAt("1", c)
}

// callAt is call at another version than that of the offer.
func (o offering) callAt(version string, c script.Call) {
	o.t.Helper()
	harness.Must(o.t, callError(harness.CallAt(script.BatchSource, o.r, version, c)))
}

// become gives the master this id and this vote.
func (o offering) become(id, votes string) {
	o.t.Helper()
	harness.Must(o.t, o.r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "id", id, "votes", votes).Err())
}

// told is the next notice on the channel "w".
func (o offering) told() string {
	o.t.Helper()
	m, err := o.sub.ReceiveMessage(context.Background())
	harness.Must(o.t, err)
	return m.Payload
}

func (o offering) lock() string { return o.r.Get(context.Background(), o.h.Keys.Lock).Val() }

// A release grants to the first in line who lets it, counts, and tells it: the member, the
// owner and the number.
func TestAReleaseGrants(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		o := newOffering(t, r, time.Second)
		o.call(o.h.ReleaseCall())
		if told, want := o.told(), "given one w 102 "+o.h.Keys.Lock; told != want {
			t.Errorf("%s: w was told %q, want %q", kind, told, want)
		}
		if is := script.ParseStored(o.lock()); is.Owner != "w" || is.Grant != 102 || is.Depth != 1 {
			t.Errorf("%s: the lock is %+v, want one that w was granted as 102", kind, is)
		}
		if counter := r.Get(context.Background(), o.h.Keys.Fence).Val(); counter != "102" {
			t.Errorf("%s: the counter is %s, want 102", kind, counter)
		}
		if left := r.PTTL(context.Background(), o.h.Keys.Lock).Val(); left <= 0 || left > time.Second {
			t.Errorf("%s: it was granted for %v, want a second", kind, left)
		}
		if n := r.ZCard(context.Background(), o.h.Keys.Queue).Val(); n != 0 {
			t.Errorf("%s: %d stand in line", kind, n)
		}
		if offers := r.Keys(context.Background(), "*offer*").Val(); len(offers) > 0 {
			t.Errorf("%s: the offers %q are left", kind, offers)
		}
	}
}

// Whom a release does not grant, it calls, or passes over.
func TestWhomAReleaseDoesNotGrant(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		for _, x := range []struct {
			who    string
			takes  time.Duration
			before func(offering)
			at     string // the version of the release
		}{
			{"who does not take it", 0, func(offering) {}, "1"},
			{"who gave up", time.Second, func(o offering) { o.call(o.w.UndoCall(time.Minute, lease.Place{})) }, "1"},
			{"who waits for a master at another version", time.Second, func(o offering) { o.become("one", "one@2") }, "2"},
			{"of which the releaser does not know", time.Second, func(o offering) { o.become("one", "one@2") }, "1"},
			{"who waits for another member", time.Second, func(o offering) { o.become("two", "two@1") }, "1"},
			{"who waits for a master that is unfit", time.Second, func(o offering) {
				harness.Must(o.t, o.r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "durable", "yes", "weak", "yes", "looked", "0").Err())
			}, "1"},
			{"who waits for a master without a vote", time.Second, func(o offering) {
				harness.Must(o.t, o.r.HDel(context.Background(), script.RegisterKey(limits.DefaultPrefix), "votes").Err())
			}, "1"},
			{"whose offer is over", time.Millisecond, func(o offering) {
				harness.Eventually(o.t, "it is", func() bool { return len(o.r.Keys(context.Background(), "*offer*").Val()) == 0 })
			}, "1"},
		} {
			o := newOffering(t, r, x.takes)
			x.before(o)
			o.callAt(x.at, o.h.ReleaseCall())
			if told := o.told(); told != o.h.Keys.Lock {
				t.Errorf("%s, %s: was told %q, want to be called", kind, x.who, told)
			}
			if lock := o.lock(); lock != " w" {
				t.Errorf("%s, %s: the lock is %q, want it kept", kind, x.who, lock)
			}
			if counter := r.Get(context.Background(), o.h.Keys.Fence).Val(); counter != "101" {
				t.Errorf("%s, %s: the counter is %s, want 101", kind, x.who, counter)
			}
		}
	}
}

// One that nobody hears is dead: it is passed over, and the lock is not its own.
func TestAReleaseGrantsNobodyWhoIsDead(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		o := newOffering(t, r, time.Second)
		harness.Must(t, o.sub.Unsubscribe(context.Background(), "w"))
		_, err := o.sub.Receive(context.Background())
		harness.Must(t, err)
		o.call(o.h.ReleaseCall())
		if lock := o.lock(); lock != "" {
			t.Errorf("%s: the lock is %q, want it free", kind, lock)
		}
		if n := r.ZCard(context.Background(), o.h.Keys.Queue).Val(); n != 0 {
			t.Errorf("%s: %d stand in line", kind, n)
		}
	}
}

// Who waits and leaves with a mark where it was not granted leaves the line as well.
func TestWhoLeavesAMarkLeavesTheLine(t *testing.T) {
	t.Parallel()
	for kind, r := range bothKinds(t) {
		o := newOffering(t, r, time.Second)
		leaving := o.in
		leaving.Ticket = waitqueue.TicketOf("-")
		o.call(o.w.UndoCall(time.Minute, leaving))
		if n := r.ZCard(context.Background(), o.h.Keys.Queue).Val() + r.ZCard(context.Background(), o.h.Keys.Asked).Val(); n != 0 {
			t.Errorf("%s: it stands in line", kind)
		}
		if lock := o.lock(); !strings.HasPrefix(lock, "h ") {
			t.Errorf("%s: the lock is %q, want it h's", kind, lock)
		}
	}
}
