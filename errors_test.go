package redlock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// Trap 16: why a lock was not had, as errors.Is and errors.As tell it.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := &Client{config: defaultConfig()}
	for i := range 5 {
		c.masters = append(c.masters, &master.Master{Config: master.Config{Name: string(rune('a' + i))}})
	}
	all := []error{ErrNotAcquired, ErrHeld, ErrNoQuorum, ErrTooSlow, ErrNotMember, ErrLost, ErrExpired, ErrReleased, ErrClosed, ErrBadOption, ErrNeedsInit}
	for _, x := range []struct {
		claim string
		err   error
		is    []error
		says  []string
	}{
		{"held by one", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("hhh..")), []error{ErrNotAcquired, ErrHeld}, []string{`"job"`, "lease ends in 1s unless renewed or released", "need 3 of 5", "a held, lease ends in 1s"}},
		{"split", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("gghhh")), []error{ErrNotAcquired, ErrHeld}, []string{"held"}},
		{"unreachable", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("uuugg")), []error{ErrNotAcquired, ErrNoQuorum}, []string{"a unknown: no answer"}},
		{"refused", c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("rrrgg")), []error{ErrNotAcquired, ErrNoQuorum, ErrNotMember}, []string{"a refused"}},
		{"a re-entry of what is another's", c.notGranted(testvotes.ViewOfAll(5), opReenter, "job", testvotes.Of("nnn..")), []error{ErrNotAcquired, ErrLost}, []string{"lost"}},
		{"an extension unheard", c.notGranted(testvotes.ViewOfAll(5), opExtend, "job", testvotes.Of("guuuu")), []error{ErrNoQuorum}, []string{"extend"}},
		{"an extension of what is another's", c.notGranted(testvotes.ViewOfAll(5), opExtend, "job", testvotes.Of("nnngg")), []error{ErrLost}, nil},
		{"a wait that ended", printable.Because(context.DeadlineExceeded, c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("hhhhh"))), []error{ErrNotAcquired, ErrHeld, context.DeadlineExceeded}, nil},
		{"bad input", &OptionError{"ttl", -1, "must be positive"}, []error{ErrBadOption}, []string{"ttl", "-1", "positive"}},
		{"a majority lost", fmt.Errorf("%w (%w)", ErrNeedsInit, ErrNotMember), []error{ErrNeedsInit, ErrNotMember}, []string{"redlock help init"}},
	} {
		for _, e := range x.is {
			if !errors.Is(x.err, e) {
				t.Errorf("%s: %v is not %v", x.claim, x.err, e)
			}
		}
		for _, e := range all {
			if errors.Is(x.err, e) && !contains(x.is, e) {
				t.Errorf("%s: %v is %v as well", x.claim, x.err, e)
			}
		}
		for _, word := range x.says {
			if !strings.Contains(x.err.Error(), word) {
				t.Errorf("%s: %q does not say %q", x.claim, x.err, word)
			}
		}
	}
	q, ok := errors.AsType[*QuorumError](printable.Because(context.Canceled, c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", testvotes.Of("ghru."))))
	if !ok || q.Need != 3 || len(q.Votes) != 5 {
		t.Fatalf("no facts: %+v", q)
	}
	for i, want := range []Answer{Granted, Held, Refused, Unknown, Unknown} {
		if q.Votes[i].Answer != want {
			t.Errorf("vote %d is %v, want %v", i, q.Votes[i].Answer, want)
		}
	}
}

func contains(errs []error, e error) bool {
	for _, x := range errs {
		if x == e {
			return true
		}
	}
	return false
}

// An error says of a master what is so: a time only if it is known, and that it did
// not answer only if it was waited for.
func TestVotesSayWhatIsSo(t *testing.T) {
	c := &Client{config: defaultConfig()}
	for i := range 5 {
		c.masters = append(c.masters, &master.Master{Config: master.Config{Name: string(rune('a' + i))}})
	}
	held := script.Vote{Heard: true, Answer: script.Held, Remaining: time.Second}
	notKnown := script.Vote{Heard: true, Answer: script.Held, Ticket: 1e15}
	for _, x := range []struct {
		claim     string
		votes     []script.Vote
		says, not []string
	}{
		{"decided", []script.Vote{held, held, notKnown}, []string{"a held, lease ends in 1s;", "c held;", "d unknown: not needed: quorum already decided"}, []string{"no answer", "0s"}},
		{"the time was up", []script.Vote{held, held}, []string{"c unknown: no answer yet", "e unknown: no answer yet"}, []string{"not needed"}},
	} {
		r := quorum.NewRound(testvotes.ViewOfAll(5))
		for i, v := range x.votes {
			r.Answer(i, v)
		}
		text := c.notGranted(testvotes.ViewOfAll(5), opAcquire, "job", r.Tally()).Error()
		for _, word := range x.says {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q does not say %q", x.claim, text, word)
			}
		}
		for _, word := range x.not {
			if strings.Contains(text, word) {
				t.Errorf("%s: %q says %q", x.claim, text, word)
			}
		}
	}
}

// Whatever a call of Lock failed for, errors.Is finds ErrNotAcquired, and of a context
// that ended both its error and its cause.
func TestEveryFailedAcquisitionIsNotAcquired(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, closed := d.reached(), d.reached()
		must(t, closed.Close())
		stop := errors.New("the user pressed stop")
		stopped, cancel := context.WithCancelCause(background)
		cancel(stop)
		late, cancelLate := context.WithTimeout(background, 0)
		defer cancelLate()
		before := mustTry(t, c, "job")
		must(t, before.Unlock(background))
		held := mustTry(t, c, "held")
		stopping := func() context.Context {
			ctx, cancel := context.WithCancelCause(background)
			time.AfterFunc(time.Second, func() { cancel(stop) })
			return ctx
		}
		for claim, x := range map[string]struct {
			client *Client
			ctx    func() context.Context
			name   string
			is     []error
		}{
			"ctx had ended, for a cause":  {c, func() context.Context { return stopped }, "job", []error{stop, context.Canceled}},
			"ctx had ended, of itself":    {c, func() context.Context { return late }, "job", []error{context.DeadlineExceeded}},
			"ctx is of a hold that ended": {c, before.Context, "job", []error{ErrReleased, context.Canceled}},
			"the client is closed":        {closed, func() context.Context { return background }, "job", []error{ErrClosed}},
			"ctx ends in the queue":       {c, stopping, "held", []error{ErrHeld, stop, context.Canceled}},
		} {
			work := func(context.Context, fence.Token) error { t.Error("work is run"); return nil }
			_, tried := x.client.TryLock(x.ctx(), x.name)
			_, waited := x.client.Lock(x.ctx(), x.name)
			all := []error{waited, x.client.Do(x.ctx(), x.name, work)}
			if x.name == "job" {
				all = append(all, tried)
			}
			for _, err := range all {
				for _, want := range append(x.is, ErrNotAcquired) {
					if !errors.Is(err, want) {
						t.Errorf("%s: %q is not %q", claim, err, want)
					}
				}
			}
		}
		must(t, held.Unlock(background))
	})
}

// Who leaves before the masters have decided learns why it left, and not that there is no quorum: neither from its error nor
// from events and logs.
func TestACallerThatLeavesIsNoLackOfAQuorum(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var log strings.Builder
		var attempts []error
		watch := Observers(LogObserver(slog.New(slog.NewTextHandler(&log, nil))), Observer{
			AttemptFailed: func(_ context.Context, a FailedAttempt) { attempts = append(attempts, a.Err) },
		})
		c := d.reached(WithObserver(Observer{}))
		held, read := mustTry(t, c, "held"), mustTry(t, c, "read")
		c.observer = watch
		try := func(_ *Lock, err error) error { return err }
		all := func(_ *Locks, err error) error { return err }
		for _, x := range []struct {
			call     string
			do       func(ctx context.Context) error
			acquires bool
		}{
			{"TryLock", func(ctx context.Context) error { return try(c.TryLock(ctx, "job")) }, true},
			{"Lock", func(ctx context.Context) error { return try(c.Lock(ctx, "job")) }, true},
			{"RLock", func(ctx context.Context) error { return try(c.RLock(ctx, "job")) }, true},
			{"slots", func(ctx context.Context) error { return try(c.Lock(ctx, "job", WithSlots(2))) }, true},
			{"LockAll", func(ctx context.Context) error { return all(c.LockAll(ctx, []string{"a", "b"})) }, true},
			{"TryLockAll", func(ctx context.Context) error { return all(c.TryLockAll(ctx, []string{"a", "b"})) }, true},
			{"re-entry", func(ctx context.Context) error { return try(c.TryLock(held.h.NewContext(ctx), "held")) }, true},
			{"unknown", func(ctx context.Context) error { return try(d.stranger(WithObserver(watch)).Lock(ctx, "job")) }, true},
			{"Extend", func(ctx context.Context) error { return held.Extend(ctx, limits.DefaultTTL) }, false},
			{"Downgrade", func(ctx context.Context) error { return read.Downgrade(ctx) }, false},
			{"Verify", func(ctx context.Context) error { _, err := c.Verify(ctx, "held", held.Token()); return err }, false},
			{"verify, unknown", func(ctx context.Context) error { _, err := d.stranger().Verify(ctx, "held", held.Token()); return err }, false},
			{"Ready", func(ctx context.Context) error { return c.Ready(ctx) }, false},
			{"ForceUnlock", func(ctx context.Context) error { _, err := c.forceUnlock(ctx, "held", shown(held)); return err }, false},
		} {
			synctest.Wait()
			call := x.call
			log.Reset()
			attempts = nil
			for _, m := range d.masters[1:] {
				m.freeze()
			}
			stop := errors.New("the user pressed stop")
			ctx, cancel := context.WithCancelCause(background)
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			start := time.Now()
			err := x.do(ctx)
			requireErr(t, err, context.Canceled, stop)
			if errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrHeld) || errors.Is(err, ErrNotAcquired) != x.acquires && call != "ForceUnlock" || strings.Contains(err.Error(), "no quorum") {
				t.Errorf("%s: %v", call, err)
			}
			if took := time.Since(start); took != 100*time.Millisecond {
				t.Errorf("%s took %v", call, took)
			}
			if strings.Contains(log.String(), "WARN") || x.acquires != strings.Contains(log.String(), "not locked") {
				t.Errorf("%s is logged as %s", call, log.String())
			}
			if x.acquires && len(attempts) == 0 && call != "re-entry" {
				t.Errorf("%s: no attempt is told", call)
			}
			for _, err := range attempts {
				if !errors.Is(err, context.Canceled) || errors.Is(err, ErrNoQuorum) || !errors.Is(err, ErrNotAcquired) {
					t.Errorf("%s: told %v", call, err)
				}
			}
			for _, m := range d.masters[1:] {
				m.thaw()
			}
			time.Sleep(time.Second)
		}
	})
}

// A waiter that leaves is told what the masters had decided before.
func TestAWaiterThatLeavesKnowsTheLastVerdict(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		held := mustTry(t, d.reached(), "job", WithTTL(2*time.Second), WithoutWatchdog())
		c := d.reached()
		ctx, cancel := context.WithCancel(background)
		waiter := make(chan error, 1)
		go func() {
			_, err := c.Lock(ctx, "job")
			waiter <- err
		}()
		time.Sleep(1900 * time.Millisecond)
		for _, m := range d.masters {
			m.freeze()
		}
		time.Sleep(200 * time.Millisecond) // it asks again at the end of the lease
		cancel()
		err := <-waiter
		requireErr(t, err, ErrNotAcquired, ErrHeld, context.Canceled)
		if errors.Is(err, ErrNoQuorum) {
			t.Error(err)
		}
		for _, m := range d.masters {
			m.thaw()
		}
		requireErr(t, held.Unlock(background), ErrExpired)
	})
}

// What an error says is one line, says nothing twice, and names no context that has not ended.
func TestErrorsSayOnceWhatIsSo(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lost := func(name string) error {
			return c.Do(background, name, func(ctx context.Context, _ fence.Token) error {
				d.drop(c, name, 0, 1, 2)
				<-ctx.Done()
				return fmt.Errorf("work stopped: %w", context.Cause(ctx))
			})
		}
		held := mustTry(t, d.reached(), "held", WithTTL(10*time.Second))
		defer held.Unlock(background)
		_, waited := c.Lock(background, "held", WithWait(1500*time.Millisecond))
		_, waitedAll := c.LockAll(background, []string{"free", "held"}, WithWait(20*time.Second))
		stopped, stop := context.WithCancelCause(background)
		stop(errors.New("the user pressed stop"))
		_, left := c.Lock(stopped, "job")
		few := &deployment{t: t, virtual: true, epoch: d.epoch, masters: d.masters[:1]}
		_, short := few.stranger().TryLock(background, "job")
		_, bad := New(nil, WithTTL(1), WithDrift(2))
		for claim, x := range map[string]struct {
			err       error
			want      string // at its beginning
			is        []error
			says, not []string
		}{
			"a lost lock":        {lost("job"), "work stopped: redlock: lock lost", []error{ErrLost}, nil, nil},
			"a wait":             {waited, "redlock: not acquired within 1.5s: held by another (acquire \"held\", lease ends in ", []error{ErrNotAcquired, ErrHeld, context.DeadlineExceeded}, []string{" unless renewed or released"}, []string{"deadline"}},
			"a wait for a set":   {waitedAll, "redlock: not acquired within 20s: held by another", []error{ErrNotAcquired, ErrHeld, context.DeadlineExceeded}, nil, []string{"deadline"}},
			"a caller that left": {left, "redlock: not acquired: context canceled: the user pressed stop", []error{ErrNotAcquired, context.Canceled}, nil, nil},
			"a short list":       {short, "redlock: no quorum of masters", []error{ErrNotAcquired, ErrNoQuorum}, []string{"need 2 masters, given 1"}, nil},
			"bad options":        {bad, "redlock: invalid number of masters 0: must be 1 to 31, 5 as a rule; invalid drift 2: must be at least 0 and below 1", []error{ErrBadOption}, nil, nil},
		} {
			requireErr(t, x.err, x.is...)
			text := x.err.Error()
			if !strings.HasPrefix(text, x.want) || strings.Contains(text, "\n") || strings.Count(text, "lock lost") > 1 || strings.Count(text, "within") > 1 {
				t.Errorf("%s: %q, want %q and no more of that", claim, text, x.want)
			}
			for _, words := range x.says {
				if !strings.Contains(text, words) {
					t.Errorf("%s: %q does not say %q", claim, text, words)
				}
			}
			for _, words := range x.not {
				if strings.Contains(text, words) {
					t.Errorf("%s: %q says %q", claim, text, words)
				}
			}
		}
	})
}

// The second in the queue has not asked yet when its time is over, and the first is
// in the middle of asking.
func TestAWaiterThatNeverAskedIsNotAcquired(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithRequestTimeout(2 * time.Second))
		for _, m := range d.masters {
			m.freeze()
		}
		first := goLock(t, c, "job")
		synctest.Wait()
		_, err := c.Lock(background, "job", WithWait(time.Second))
		requireErr(t, err, ErrNotAcquired, context.DeadlineExceeded)
		for _, m := range d.masters {
			m.thaw()
		}
		must(t, have(t, first).Unlock(background))
	})
}

// Trap 11: granted by a quorum, but so late that nothing of the lease is left.
func TestTooSlowIsNoHold(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithTTL(300*time.Millisecond), WithRequestTimeout(290*time.Millisecond))
		for _, slow := range []struct {
			by   time.Duration
			want error
		}{{200 * time.Millisecond, nil}, {280 * time.Millisecond, ErrTooSlow}} {
			for _, m := range d.masters {
				m.freeze()
			}
			time.AfterFunc(slow.by, func() {
				for _, m := range d.masters {
					m.thaw()
				}
			})
			start := time.Now()
			lock, err := c.TryLock(background, "job", WithoutWatchdog())
			if slow.want != nil {
				requireErr(t, err, ErrNotAcquired, slow.want)
				time.Sleep(time.Millisecond)
				if got := d.holders("job"); got != "000" {
					t.Errorf("held on %s", got)
				}
				continue
			}
			must(t, err)
			// Counted from before the request was sent, not from when it was answered.
			if left := time.Until(lock.Until()); left > 300*time.Millisecond-slow.by {
				t.Errorf("%v left %v after the start", left, time.Since(start))
			}
			must(t, lock.Unlock(background))
		}
	})
}

// What a server says reaches no terminal as it is, and is still found by errors.As.
func TestAMastersWordsArePrintable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for s := bufio.NewScanner(conn); s.Scan(); {
					if strings.HasPrefix(s.Text(), "*") { // a command begins
						fmt.Fprint(conn, "-EVIL \x1b]0;title\a\u009b2J\r\n")
					}
				}
			}()
		}
	}()
	check := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), `EVIL \x1b]0;title\a\u009b2J`) || strings.ContainsAny(err.Error(), "\x1b\a\u009b") {
			t.Errorf("%s: %q", what, err)
		}
		if !master.IsReply(err) {
			t.Errorf("%s: %v is no reply of a server", what, err)
		}
	}
	down := make(chan error, 1)
	c, err := Open([]string{"redis://" + l.Addr().String()}, WithObserver(Observer{MasterDown: func(m MasterStatus) { down <- m.Err }}))
	must(t, err)
	defer c.Close()
	_, err = c.TryLock(t.Context(), "a")
	check("TryLock", err)
	check("MasterDown", <-down)
	check("found", c.found(t.Context(), 0))
}
