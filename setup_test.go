package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

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

// everyWait calls all that wait for a lock, each with the options.
func everyWait(c *Client, ctx context.Context, opts ...LockOption) map[string]error {
	unlock := func(l interface{ Unlock(context.Context) error }, err error) error {
		if err == nil {
			_ = l.Unlock(background)
		}
		return err
	}
	errs := map[string]error{}
	lock, err := c.Lock(ctx, "name", opts...)
	errs["Lock"] = unlock(lock, err)
	lock, err = c.RLock(ctx, "name", opts...)
	errs["RLock"] = unlock(lock, err)
	lock, err = c.Lock(ctx, "name", append(slices.Clone(opts), WithSlots(3))...)
	errs["slots"] = unlock(lock, err)
	set, err := c.LockAll(ctx, []string{"a", "b"}, opts...)
	errs["LockAll"] = unlock(set, err)
	errs["Do"] = c.Do(ctx, "name", func(context.Context, fence.Token) error { return nil }, opts...)
	return errs
}

// Without a bound and by default, who cannot get the lock before somebody does something is told at once. WithWaitForSetup waits.
func TestWhatTimeDoesNotMendFailsAtOnce(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		fails := func(what string, c *Client, want ...error) {
			t.Helper()
			start := time.Now()
			for call, err := range everyWait(c, background) {
				if errors.Is(err, context.DeadlineExceeded) || err == nil {
					t.Errorf("%s: %s: %v", what, call, err)
				}
				requireErr(t, err, append(want, ErrNotAcquired, ErrNoQuorum, ErrNeedsSetup)...)
			}
			if took := time.Since(start); took > 5*limits.DefaultRequestTimeout {
				t.Errorf("%s: failing at once took %v", what, took)
			}
			for call, err := range everyWait(c, background, WithWaitForSetup(), WithWait(2*time.Second)) {
				requireErr(t, err, append(want, ErrNotAcquired, context.DeadlineExceeded)...)
				if errors.Is(err, ErrNeedsSetup) {
					t.Errorf("%s: with the option %s fails with %v", what, call, err)
				}
			}
		}
		fails("nothing is founded", d.stranger(), ErrNeedsInit)
		early := goLock(t, d.stranger(WithWaitForSetup()), "early")
		time.Sleep(time.Minute)
		must(t, d.stranger().found(background, 0))
		must(t, have(t, early).Unlock(background))
		for call, err := range everyWait(d.stranger(), background) {
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}

		few := &deployment{t: t, virtual: true, epoch: d.epoch, masters: d.masters[:1]}
		fails("one of three members", few.stranger())
	})
}

// Masters that refuse the password, as redis-server does.
func TestAWaitWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ password, want string }{{"", "NOAUTH"}, {"wrong", "WRONGPASS"}} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			onProcesses(t, 3, func(t *testing.T, d *deployment) {
				d.client()
				for i := range d.masters {
					d.masters[i] = withPassword{d.masters[i], c.password}
				}
				must(t, d.raw[0].ConfigSet(background, "requirepass", "right").Err())
				if c.password == "" { // the others need none
					lock := have(t, goLock(t, d.stranger(), "name"))
					must(t, lock.Unlock(background))
				}
				for _, r := range d.raw[1:] {
					must(t, r.ConfigSet(background, "requirepass", "right").Err())
				}
				for call, err := range everyWait(d.stranger(WithWait(patience)), background) {
					requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
					if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%s: %v", call, err)
					}
				}
			})
		})
	}
}

type withPassword struct {
	testMaster
	password string
}

func (m withPassword) options() *redis.Options {
	o := m.testMaster.options()
	o.Password = m.password
	return o
}

// Strangers to the deployment do not vote, whatever they belong to.
func TestAWaitAmongStrangers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 6, func(t *testing.T, d *deployment) {
		one := &deployment{t: t, virtual: true, epoch: d.epoch, masters: d.masters[:3]}
		other := &deployment{t: t, virtual: true, epoch: d.epoch, masters: d.masters[3:]}
		one.client()
		other.client()
		for _, masters := range [][]testMaster{
			{d.masters[0], d.masters[1], d.masters[3], d.masters[4]}, // two of each: it cannot be known whose they are
			{d.masters[0], d.masters[3]},
		} {
			mixed := &deployment{t: t, virtual: true, epoch: d.epoch, masters: masters}
			start := time.Now()
			_, err := mixed.stranger().Lock(background, "name", WithWait(time.Minute))
			requireErr(t, err, ErrNotAcquired, ErrNoQuorum, ErrNotMember)
			if took := time.Since(start); took > limits.DefaultRequestTimeout {
				t.Errorf("it took %v", took)
			}
		}
	})
}

// What passes by itself is waited for.
func TestWhatPassesIsWaitedFor(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		held := mustTry(t, d.client(), "name", WithTTL(10*time.Second), WithoutWatchdog())
		c := d.client()
		must(t, have(t, goLock(t, c, "name")).Unlock(background))
		requireErr(t, held.Unlock(background), ErrExpired)

		d.masters[0].die()
		d.masters[1].die()
		got := goLock(t, c, "name")
		time.Sleep(time.Minute)
		d.masters[1].revive()
		must(t, have(t, got).Unlock(background))
	})
}
