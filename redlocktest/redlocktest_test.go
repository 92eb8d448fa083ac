package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/redlocktest"
)

func mustLock(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.Lock(t.Context(), name, append(opts, redlock.WithWait(30*time.Second))...)
	harness.Must(t, err)
	return lock
}

// awaitEnd waits for the end of a hold. It fails the test if the hold does not end before its first renewal.
func awaitEnd(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(limits.DefaultTTL / 6):
		t.Error("the holder's context did not end")
	}
	if cause := context.Cause(ctx); !isLoss(cause) {
		t.Errorf("the hold ended with %v", cause)
	}
}

// isLoss reports whether a hold ended because of Expire or Steal. The error depends on how many masters had granted the
// lock.
func isLoss(cause error) bool {
	return errors.Is(cause, redlock.ErrLost) || errors.Is(cause, redlock.ErrExpired)
}

// waiting starts a Lock of a name that is held, and returns when the call is in the queues.
func waiting(t *testing.T, d *redlocktest.Deployment, name string) <-chan *redlock.Lock {
	t.Helper()
	got, inLine := make(chan *redlock.Lock, 1), make(chan struct{}, 100)
	c := d.Client(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) { inLine <- struct{}{} }}))
	go func() {
		lock, err := c.Lock(context.Background(), name)
		if err != nil {
			t.Error(err)
		}
		got <- lock
	}()
	<-inLine
	for { // the waiter asks again with its ticket, until it is in all queues
		in, err := admin.Inspect(t.Context(), c, name)
		harness.Must(t, err)
		if in.Quorum.Waiting > 0 {
			return got
		}
		time.Sleep(time.Millisecond)
	}
}

// soon returns the lock that is waited for, or fails if the waiter was not called.
func soon(t *testing.T, got <-chan *redlock.Lock) *redlock.Lock {
	t.Helper()
	select {
	case lock := <-got:
		return lock
	case <-time.After(5 * time.Second):
		t.Fatal("the one that waits was not called")
		return nil
	}
}

// inBothTimes runs a test in real and in virtual time.
func inBothTimes(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	t.Run("real", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("virtual", func(t *testing.T) { synctest.Test(t, test) })
}

func TestExpire(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		d := redlocktest.New(t)
		lock := mustLock(t, d.Client(), "job")
		got := waiting(t, d, "job")
		d.Expire("job")
		awaitEnd(t, lock.Context())
		next := soon(t, got)
		if next.Token() <= lock.Token() {
			t.Errorf("token %v after %v", next.Token(), lock.Token())
		}
		harness.Must(t, next.Unlock(t.Context()))
	})
}

func TestExpireWithoutWaiters(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3), redlocktest.Prefix("app"))
		reader, err := d.Client().RLock(t.Context(), "read")
		harness.Must(t, err)
		slot := mustLock(t, d.Client(), "slots", redlock.WithSlots(2))
		set, err := d.Client().LockAll(t.Context(), []string{"a", "b"})
		harness.Must(t, err)
		d.Kill(1) // its data is there when it is back
		for _, held := range []struct {
			name string
			ctx  context.Context
		}{{"read", reader.Context()}, {slot.Name(), slot.Context()}, {"b", set.Context()}} {
			d.Expire(held.name)
			awaitEnd(t, held.ctx)
		}
		d.Start(1)
		c := d.Client()
		for _, name := range []string{"read", "a", "b"} {
			harness.Must(t, mustLock(t, c, name).Unlock(t.Context()))
		}
	})
}

func TestStealBeforeWaiters(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3))
		lock := mustLock(t, d.Client(), "job")
		got := waiting(t, d, "job")
		rival := d.Steal("job")
		awaitEnd(t, lock.Context())
		if _, err := d.Client().TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("what the rival has: %v", err)
		}
		rival.Unlock()
		next := soon(t, got)
		if rival.Token() <= lock.Token() || next.Token() <= rival.Token() {
			t.Errorf("tokens %v, the rival's %v, and %v", lock.Token(), rival.Token(), next.Token())
		}
		harness.Must(t, next.Unlock(t.Context()))
	})
}

func TestStealFreeLock(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3))
		d.Kill(2)
		c, rival := d.Client(), d.Steal("job")
		if _, err := c.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("what the rival has: %v", err)
		}
		if verdict, err := c.Verify(t.Context(), "job", rival.Token()); verdict != redlock.VerifyValid {
			t.Errorf("the rival's token is %v, %v", verdict, err)
		}
		rival.Unlock()
		harness.Must(t, mustLock(t, c, "job").Unlock(t.Context()))
	})
}

// The rival's lease ends by itself.
func TestRivalDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.MaxTTL(10*time.Minute))
		d.Steal("job")
		began := time.Now()
		lock, err := d.Client(redlock.WithTTL(9*time.Minute)).Lock(t.Context(), "job")
		harness.Must(t, err)
		if took := time.Since(began); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("free after %v", took)
		}
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

// A lock is renewed for an hour of virtual time, while one master of five does not answer.
func TestRenewalOverAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewals atomic.Int64
		d := redlocktest.New(t)
		client := d.Client(redlock.WithObserver(redlock.Observer{Renewed: func(context.Context, redlock.Renewal) { renewals.Add(1) }}))
		lock := mustLock(t, client, "job")
		d.Freeze(0)
		time.Sleep(time.Hour + time.Second)
		harness.Must(t, lock.Unlock(t.Context()))
		if n := renewals.Load(); n != 360 { // one for each third of the ttl, which is 30 s by default
			t.Errorf("%d renewals", n)
		}
		d.Thaw(0)
	})
}

// A client that a program makes itself works like a client of Deployment.Client, but notices a loss only at its
// next renewal.
func TestURLs(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	d := redlocktest.New(t, redlocktest.Masters(3))
	renewed := make(chan struct{}, 100)
	program, err := redlock.Open(d.URLs(), redlock.WithTTL(ttl), redlock.WithRequestTimeout(ttl/2), redlock.WithObserver(redlock.Observer{
		Renewed: func(context.Context, redlock.Renewal) { renewed <- struct{}{} },
	}))
	harness.Must(t, err)
	defer program.Close()
	own, theirs := voting(t, program, 3), voting(t, d.Client(), 3)
	if len(own) != 3 || !slices.Equal(own, theirs) {
		t.Errorf("the program's masters are %q, and those of Client %q", own, theirs)
	}
	lock := mustLock(t, program, "job")
	if _, err := d.Client().TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("what the program has: %v", err)
	}
	<-renewed // from now on, all masters have the lock
	rival := d.Steal("job")
	defer rival.Unlock()
	end := lock.Until()
	select {
	case <-lock.Context().Done():
	case <-time.After(time.Until(end)):
		t.Error("the program's context did not end with its lease")
	}
	if cause := context.Cause(lock.Context()); !errors.Is(cause, redlock.ErrLost) {
		t.Errorf("the hold ended with %v", cause)
	}
	if verdict, err := program.Verify(t.Context(), "job", rival.Token()); verdict != redlock.VerifyValid {
		t.Errorf("to the program the rival's token is %v, %v", verdict, err)
	}
}

// voting waits until the wanted number of members vote and answer. It returns each address with its master.
func voting(t *testing.T, c *redlock.Client, want int) (are []string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && len(are) != want; {
		m, err := admin.Members(t.Context(), c)
		harness.Must(t, err)
		are = nil
		for _, member := range m.Members {
			if member.State == admin.MemberVoting && member.Err == nil && member.Master != "" {
				are = append(are, fmt.Sprintf("%s at %s, %s", member.ID, member.Address, member.Master))
			}
		}
	}
	return are
}

func TestWipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3))
		c := d.Client()
		lock := mustLock(t, c, "job")
		d.Wipe(1)
		began := time.Now()
		for votes := 0; votes < 3; time.Sleep(time.Second) {
			m, err := admin.Members(t.Context(), c)
			harness.Must(t, err)
			votes = 0
			for _, member := range m.Members {
				if member.State == admin.MemberVoting && member.Err == nil && member.Master != "" {
					votes++
				}
			}
			if votes < 3 && time.Since(began) > 2*time.Minute {
				t.Fatalf("the members are %+v", m.Members)
			}
		}
		if took := time.Since(began); took < limits.DefaultMaxTTL {
			t.Errorf("it voted after %v", took)
		}
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

// A clock jump expires a lock on its master. On one of three masters, this does not end the hold; on two, the hold is
// lost.
func TestJumpClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redlocktest.New(t, redlocktest.Masters(3))
		lock := mustLock(t, d.Client(), "job")
		d.JumpClock(0, -time.Hour)
		d.JumpClock(0, 2*time.Hour)
		time.Sleep(time.Minute + time.Second)
		if !lock.Valid() {
			t.Error("the clock of one of three masters ended the hold")
		}
		d.JumpClock(1, time.Hour)
		d.JumpClock(2, time.Hour)
		<-lock.Context().Done()
		if cause := context.Cause(lock.Context()); !errors.Is(cause, redlock.ErrLost) {
			t.Errorf("the hold ended with %v", cause)
		}
	})
}

// fails is a testing.TB that records its failure, and does not fail the test.
type fails struct {
	testing.TB
	message string
}

func (f *fails) Fatal(args ...any)                 { f.message = fmt.Sprint(args...); panic(f) }
func (f *fails) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// Deadline returns the deadline of the wrapped test.
func (f *fails) Deadline() (time.Time, bool) {
	return f.TB.(interface{ Deadline() (time.Time, bool) }).Deadline()
}

func (f *fails) by(misuse func()) string {
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(f) {
				panic(p)
			}
		}()
		misuse()
	}()
	return f.message
}

func TestMisuseFailsTest(t *testing.T) {
	t.Parallel()
	f := &fails{TB: t}
	d := redlocktest.New(f, redlocktest.Masters(3))
	for _, c := range []struct {
		misuse func()
		want   string
	}{
		{func() { d.Kill(3) }, "Kill(3): there are the masters 0 to 2"},
		{func() { d.Start(-1) }, "Start(-1): there are the masters 0 to 2"},
		{func() { d.Freeze(3) }, "Freeze(3): there are"},
		{func() { d.Thaw(3) }, "Thaw(3): there are"},
		{func() { d.Wipe(3) }, "Wipe(3): there are"},
		{func() { d.JumpClock(3, 0) }, "JumpClock(3): there are"},
		{func() { d.Expire("nobody's") }, `Expire("nobody's"): nobody has this lock`},
		{func() { d.Steal("") }, `Steal(""): the name must not be empty`},
		{func() { d.Client(redlock.WithTTL(1)) }, "Client: redlock: invalid ttl 1ns: must be"},
		{func() { redlocktest.New(f, redlocktest.Masters(0)) }, "Masters(0): there must be 1 to 31"},
		{func() { redlocktest.New(f, redlocktest.Masters(32)) }, "Masters(32): there must be"},
		{func() { redlocktest.New(f, nil) }, "options[0] is nil"},
		{func() { redlocktest.New(f, redlocktest.Prefix("")) }, `invalid prefix "": must`},
		{func() { redlocktest.New(f, redlocktest.MaxTTL(1)) }, "invalid max ttl 1ns: must be"},
		{func() { d.Kill(0); d.Freeze(0) }, "Freeze(0): the master does not run"},
		{func() { d.Freeze(1); d.Steal("job") }, `Steal("job"): 1 of the 3 masters answer and vote, and it takes 2`},
	} {
		f.message = ""
		if message := f.by(c.misuse); !strings.HasPrefix(message, "redlocktest: ") || !strings.Contains(message, c.want) {
			t.Errorf("failed with %q; want %q", message, c.want)
		}
	}
	synctest.Test(t, func(*testing.T) {
		if message := f.by(func() { d.Client() }); !strings.Contains(message, "call New in the bubble") {
			t.Errorf("failed with %q", message)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fails{TB: t}
		d := redlocktest.New(f, redlocktest.Masters(1))
		if message := f.by(func() { d.URLs() }); !strings.Contains(message, "no sockets in a bubble") {
			t.Errorf("failed with %q", message)
		}
	})
}
