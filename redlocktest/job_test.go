package redlocktest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/redlocktest"
)

// books stands in for a store of yours that compares tokens.
type books struct {
	guard fence.Memory
	rows  []string
}

func (b *books) add(ctx context.Context, token fence.Token, row string) error {
	return b.guard.Do(ctx, "books", token, func() error {
		b.rows = append(b.rows, row)
		return nil
	})
}

// closeMonth stands in for the code that is tested: a job in two steps, under a lock.
func closeMonth(ctx context.Context, client *redlock.Client, b *books, between func(context.Context)) error {
	return client.Do(ctx, "books", func(ctx context.Context, token fence.Token) error {
		if err := b.add(ctx, token, "first"); err != nil {
			return err
		}
		between(ctx)
		return b.add(context.WithoutCancel(ctx), token, "second") // it does not look at ctx: the store must refuse it
	})
}

// A job that succeeds, and leaves the name free.
func TestJobSucceeds(t *testing.T) {
	client := redlocktest.New(t).Client()
	var b books
	if err := closeMonth(t.Context(), client, &b, func(context.Context) {}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(b.rows, []string{"first", "second"}) {
		t.Errorf("the store has %v", b.rows)
	}
	lock, err := client.TryLock(t.Context(), "books")
	if err != nil {
		t.Error(err)
	}
	lock.Unlock(t.Context())
}

// A job whose lock is lost in the middle: its context ends, and the store, to which the new owner
// was first, refuses its token.
func TestJobLosesItsLock(t *testing.T) {
	d := redlocktest.New(t)
	var b books
	err := closeMonth(t.Context(), d.Client(), &b, func(ctx context.Context) {
		rival := d.Steal("books")
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, redlock.ErrLost) {
			t.Errorf("the context ended with %v", cause)
		}
		if err := b.add(t.Context(), rival.Token(), "rival's"); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, redlock.ErrLost) || !errors.Is(err, fence.ErrStale) {
		t.Errorf("the job ended with %v", err)
	}
	if !slices.Equal(b.rows, []string{"first", "rival's"}) {
		t.Errorf("the store has %v", b.rows)
	}
}

// A lock that is renewed for an hour, in no time.
func TestRenewalOverAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		client := redlocktest.New(t).Client(redlock.WithObserver(redlock.Observer{
			Renewed: func(context.Context, redlock.Renewal) { renewals.Add(1) },
		}))
		var b books
		err := closeMonth(t.Context(), client, &b, func(context.Context) { time.Sleep(time.Hour + time.Second) })
		if err != nil || len(b.rows) != 2 {
			t.Errorf("%v, and the store has %v", err, b.rows)
		}
		if n := renewals.Load(); n != 360 { // one in a third of the ttl, which is 30 s by default
			t.Errorf("%d renewals", n)
		}
	})
}

// A minority of the masters does not answer, and nobody notices.
func TestMasterFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redlocktest.New(t)
		var b books
		err := closeMonth(t.Context(), d.Client(), &b, func(context.Context) {
			d.Freeze(0)
			time.Sleep(time.Hour)
		})
		if err != nil || len(b.rows) != 2 {
			t.Errorf("%v, and the store has %v", err, b.rows)
		}
		d.Thaw(0)
	})
}

// A quorum of the masters is gone: the holder is told before its lease is over on the others, and
// nobody gets the lock until the masters are back.
func TestQuorumKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3))
		client := d.Client(redlock.WithTTL(10 * time.Second))
		var b books
		err := closeMonth(t.Context(), client, &b, func(ctx context.Context) {
			d.Kill(0)
			d.Kill(1)
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the holder was told after %v", took)
			}
		})
		if !errors.Is(err, redlock.ErrExpired) {
			t.Errorf("the job ended with %v", err)
		}
		if _, err := client.TryLock(t.Context(), "books"); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("without a quorum: %v", err)
		}
		d.Start(0)
		lock, err := client.Lock(t.Context(), "books")
		if err != nil {
			t.Error(err)
		}
		lock.Unlock(t.Context())
	})
}
