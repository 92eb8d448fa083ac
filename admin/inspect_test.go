package admin_test

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/identity"
)

// ttl is the ttl of inspected holds.
const ttl = 15 * time.Second

func TestInspectNamesReaders(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		one, other, asker := d.Reached(redlock.WithName("one")), d.Reached(redlock.WithName("other")), d.Reached()
		long := harness.MustTryRead(t, one, "job", redlock.WithTTL(2*ttl))
		short := harness.MustTryRead(t, other, "job", redlock.WithTTL(ttl), redlock.WithoutWatchdog())
		for _, c := range []*redlock.Client{one, other} {
			allKnow(d, c)
			harness.Settled(t, c)
		}
		in := inspect(t, asker, "job")
		q := in.Quorum
		if q.State != admin.LockRead || q.Owner != "" || q.Token != 0 || len(q.Readers) != 2 {
			t.Fatalf("the quorum has %+v", q)
		}
		for i, want := range []struct {
			name string
			lock *redlock.Lock
			ttl  time.Duration
		}{{"other", short, ttl}, {"one", long, 2 * ttl}} {
			if r := q.Readers[i]; r.Holder.Name != want.name || r.Owner != harness.Hold(want.lock).ID || r.Remaining <= 0 || r.Remaining > want.ttl {
				t.Errorf("reader %d is %+v, want %s", i, r, want.name)
			}
		}
		if q.Remaining != q.Readers[1].Remaining {
			t.Errorf("free in %v, and the last reader ends in %v", q.Remaining, q.Readers[1].Remaining)
		}

		harness.Settled(t, one)
		for _, r := range d.Raw[:3] { // these masters are not a majority
			harness.Must(t, r.Del(background, lockKey("job")).Err())
		}
		if q := inspect(t, asker, "job").Quorum; q.State == admin.LockRead || len(q.Readers) > 0 {
			t.Errorf("on two of five masters: %+v", q)
		}
		_ = errors.Join(long.Unlock(background), short.Unlock(background))
	})
}

func TestInspectNamesHolder(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		holder, asker := d.Reached(redlock.WithName("payroll"), redlock.WithTTL(ttl)), d.Reached()
		in := inspect(t, asker, "job")
		if !reflect.DeepEqual(in.Quorum, admin.LockView{State: admin.LockFree}) || in.Name != "job" || in.Need != 3 || len(in.Masters) != 5 {
			t.Errorf("nobody has it: %+v", in)
		}

		lock := harness.MustTry(t, holder, "job")
		allKnow(d, holder)
		harness.Settled(t, holder)
		host, _ := os.Hostname()
		want := admin.Holder{Client: identity.ClientOf(harness.Hold(lock).ID), Name: "payroll", Host: host, PID: os.Getpid()}
		in = inspect(t, asker, "job")
		q := in.Quorum
		if q.State != admin.LockHeld || q.Holder != want || q.Token != lock.Token() || q.Waiting != 0 || q.Owner != harness.Hold(lock).ID ||
			q.Remaining <= 0 || q.Remaining > ttl {
			t.Errorf("the quorum has %+v", q)
		}
		for _, m := range in.Masters {
			if m.Err != nil || m.State != admin.LockHeld || m.Holder != want || m.Grant == 0 || m.Master == "" {
				t.Errorf("%s has %+v", m.Master, m)
			}
		}

		waiter := harness.GoLock(t, d.Reached(), "job")
		d.InLine("job", 1)
		harness.Settled(t, holder)
		if q := inspect(t, asker, "job").Quorum; q.Waiting != 1 {
			t.Errorf("one waits: %+v", q)
		}
		harness.Must(t, lock.Unlock(background))
		next := harness.Have(t, waiter)
		if q := inspect(t, asker, "job").Quorum; q.State != admin.LockHeld || q.Token != next.Token() || q.Owner != harness.Hold(next).ID {
			t.Errorf("the next one holds: %+v", q)
		}
		harness.Must(t, next.Unlock(background))
		harness.RequireFree(t, d, "job")
		if q := inspect(t, asker, "job").Quorum; q.State != admin.LockFree {
			t.Errorf("free again: %+v", q)
		}
	})
}

// A lingering name is reported with the holder that left it.
func TestInspectNamesLingeringHolder(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		c, asker := d.Reached(), d.Reached()
		lock := harness.MustTry(t, c, "job", redlock.WithHoldAtLeast(20*time.Second))
		harness.Settled(t, c)
		harness.Must(t, lock.Unlock(background))
		harness.Settled(t, c)
		q := inspect(t, asker, "job").Quorum
		if q.State != admin.LockLingers || q.Owner != harness.Hold(lock).ID || q.Token != lock.Token() || q.Since().IsZero() {
			t.Errorf("the quorum has %+v", q)
		}
	})
}

// When no quorum reports the same owner, the inspection has no owner.
func TestInspectWithoutMajority(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		harness.Must(t, harness.MustTry(t, c, "another").Unlock(background))
		key := lockKey("job")
		for i, value := range []string{"a.1 7 ", "a.1 7 ", "a.2 8 ", "\x1b[2J.3 9 ", "no lock at all, but words"} {
			harness.Must(t, d.Raw[i].Set(background, key, value, time.Minute).Err())
		}
		in := inspect(t, c, "job")
		if in.Quorum.State != admin.LockUnknown || in.Quorum.Owner != "" || in.Quorum.Holder != (admin.Holder{}) || in.Quorum.Token != 0 {
			t.Errorf("of a split lock the quorum has %+v", in.Quorum)
		}
		for i, want := range []admin.LockView{
			{State: admin.LockHeld, Owner: "a.1", Holder: admin.Holder{Client: "a"}, Grant: 7},
			{State: admin.LockHeld, Owner: "a.1", Holder: admin.Holder{Client: "a"}, Grant: 7},
			{State: admin.LockHeld, Owner: "a.2", Holder: admin.Holder{Client: "a"}, Grant: 8},
			{State: admin.LockHeld, Owner: `\x1b[2J.3`, Holder: admin.Holder{Client: `\x1b[2J`}, Grant: 9},
			{State: admin.LockUnknown},
		} {
			got := in.Masters[i].LockView
			if got.Remaining <= 0 || got.Remaining > time.Minute {
				t.Errorf("master %d: %v remain", i, got.Remaining)
			}
			got.Remaining = 0
			if !reflect.DeepEqual(got, want) {
				t.Errorf("master %d: %+v, want %+v", i, got, want)
			}
		}
		harness.Must(t, d.Raw[4].Set(background, key, " redlock:waits:b", time.Minute).Err())
		d.Masters[0].Die()
		d.Masters[1].Die()
		for _, r := range d.Raw[2:4] {
			harness.Must(t, r.Del(background, key).Err())
		}
		if in := inspect(t, c, "job"); in.Quorum.State != admin.LockFree || in.Masters[0].Err == nil || in.Masters[0].State != admin.LockUnknown {
			t.Errorf("three report that it is free: %+v", in)
		}
		d.Masters[2].Die()
		in, err := admin.Inspect(background, c, "job")
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		if len(in.Masters) != 5 || in.Masters[3].State != admin.LockFree || in.Quorum.State != admin.LockUnknown || errors.Is(err, redlock.ErrNotAcquired) {
			t.Errorf("two of five: %+v, %v", in, err)
		}
		in, err = admin.Inspect(background, d.Client(), "job") // this client does not know the voting members
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		if len(in.Masters) != 5 || in.Need != 3 || in.Masters[0].State != admin.LockUnknown || in.Masters[4].State != admin.LockKept || in.Masters[4].Err == nil || in.Quorum.State != admin.LockUnknown {
			t.Errorf("two of five, and nobody knows who votes: %+v, %v", in, err)
		}
	})
}
