package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redlock-go/redlock"
)

// MustTry acquires the lock, which must be free.
func MustTry(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.TryLock(context.Background(), name, opts...)
	Must(t, err)
	return lock
}

// MustTryRead acquires the lock for reading. No writer may have it.
func MustTryRead(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.TryRLock(context.Background(), name, opts...)
	Must(t, err)
	return lock
}

// MustEnter acquires the lock, which must be free. If ctx carries the lock, MustEnter re-enters the hold instead.
func MustEnter(t *testing.T, c *redlock.Client, ctx context.Context, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.TryLock(ctx, name, opts...)
	Must(t, err)
	return lock
}

// MustLock waits for the lock: after a fault a master may need a moment.
func MustLock(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.Lock(context.Background(), name, append([]redlock.LockOption{redlock.WithWait(Patience)}, opts...)...)
	Must(t, err)
	return lock
}

// MustAll acquires the locks of all names, which must be free.
func MustAll(t *testing.T, c *redlock.Client, names []string, opts ...redlock.LockOption) *redlock.Locks {
	t.Helper()
	locks, err := c.TryLockAll(context.Background(), names, opts...)
	Must(t, err)
	return locks
}

// MustFail returns the error of an attempt that must fail.
func MustFail(t *testing.T, c *redlock.Client, name string) error {
	t.Helper()
	_, err := c.TryLock(context.Background(), name)
	if err == nil {
		t.Fatal("locked")
	}
	return err
}

// UnlockAll unlocks these locks.
func UnlockAll(t *testing.T, locks ...*redlock.Lock) {
	t.Helper()
	for _, l := range locks {
		Must(t, l.Unlock(context.Background()))
	}
}

// GoLock locks in a goroutine of its own, which ends with the test at the latest.
func GoLock(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) <-chan *redlock.Lock {
	return goLock(t, (*redlock.Client).Lock, c, name, opts)
}

// GoRLock locks for reading, in a goroutine of its own, as GoLock does.
func GoRLock(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) <-chan *redlock.Lock {
	return goLock(t, (*redlock.Client).RLock, c, name, opts)
}

type locking func(*redlock.Client, context.Context, string, ...redlock.LockOption) (*redlock.Lock, error)

func goLock(t *testing.T, by locking, c *redlock.Client, name string, opts []redlock.LockOption) <-chan *redlock.Lock {
	got := make(chan *redlock.Lock, 1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lock, err := by(c, ctx, name, opts...)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			close(got)
			return
		}
		got <- lock
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return got
}

// Have receives a lock from got, and returns it. It ends the test if the lock is nil.
func Have(t *testing.T, got <-chan *redlock.Lock) *redlock.Lock {
	t.Helper()
	lock := <-got
	if lock == nil {
		t.FailNow()
	}
	return lock
}

// Counted waits until the votes of these masters count for a lock of c: after a repair, a master's vote counts only
// from the next renewal on.
func Counted(t *testing.T, c *redlock.Client, lock *redlock.Lock, masters ...int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("masters %v count", masters), func() bool {
		return !slices.ContainsFunc(masters, func(i int) bool { return !Inside(c).Now().Before(Hold(lock).Master(i).Until) })
	})
}
