package redlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

func TestProgramName(t *testing.T) {
	t.Parallel()
	_, err := New(nil, WithName(strings.Repeat("x", maxProgramName+1)))
	if !errors.Is(err, ErrBadOption) || !strings.Contains(err.Error(), "client's name of 257 bytes") {
		t.Error(err)
	}
}

// Trap 16 of docs/TRAPS.md: errors.Is and errors.As show why a lock was not acquired.
func TestPublicErrors(t *testing.T) {
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
		texts []string
	}{
		{"held by one", notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("hhh..")), []error{ErrNotAcquired, ErrHeld}, []string{`"job"`, "lease ends in 1s unless renewed or released", "need 3 of 5", "a held, lease ends in 1s"}},
		{"split", notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("gghhh")), []error{ErrNotAcquired, ErrHeld}, []string{"held"}},
		{"unreachable", notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("uuugg")), []error{ErrNotAcquired, ErrNoQuorum}, []string{"a unknown: no answer"}},
		{"refused", notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("rrrgg")), []error{ErrNotAcquired, ErrNoQuorum, ErrNotMember}, []string{"a refused"}},
		{"a re-entry of what is another's", notGranted(c, testvotes.ViewOfAll(5), ask.OpReenter, "job", testvotes.Of("nnn..")), []error{ErrNotAcquired, ErrLost}, []string{"lost"}},
		{"an extension unheard", notGranted(c, testvotes.ViewOfAll(5), ask.OpExtend, "job", testvotes.Of("guuuu")), []error{ErrNoQuorum}, []string{"extend"}},
		{"an extension of what is another's", notGranted(c, testvotes.ViewOfAll(5), ask.OpExtend, "job", testvotes.Of("nnngg")), []error{ErrLost}, nil},
		{"a wait that ended", printable.Because(context.DeadlineExceeded, notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("hhhhh"))), []error{ErrNotAcquired, ErrHeld, context.DeadlineExceeded}, nil},
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
		for _, word := range x.texts {
			if !strings.Contains(x.err.Error(), word) {
				t.Errorf("%s: %q lacks %q", x.claim, x.err, word)
			}
		}
	}
	q, ok := errors.AsType[*QuorumError](printable.Because(context.Canceled, notGranted(c, testvotes.ViewOfAll(5), ask.OpAcquire, "job", testvotes.Of("ghru."))))
	if !ok || q.Need != 3 || len(q.Votes) != 5 {
		t.Fatalf("no facts: %+v", q)
	}
	for i, want := range []Answer{Granted, Held, Refused, Unknown, Unknown} {
		if q.Votes[i].Answer != want {
			t.Errorf("vote %d is %v, want %v", i, q.Votes[i].Answer, want)
		}
	}
}

// notGranted is the error of c for votes that did not bring a grant.
func notGranted(c *Client, v *membership.View, op, name string, votes []script.Vote) error {
	return c.public(ask.NotGranted(v, op, name, votes))
}

func contains(errs []error, e error) bool {
	for _, x := range errs {
		if x == e {
			return true
		}
	}
	return false
}

// Even if a master's clock is fast by the drift, the key lasts long enough by this process's clock.
func TestLingerTTL(t *testing.T) {
	t.Parallel()
	for _, maxTTL := range []time.Duration{limits.MinTTL, time.Minute, 12345678 * time.Microsecond, maxDuration} {
		for _, drift := range []float64{0, 0.01, 0.5, 0.9} {
			most := maxTTL.Truncate(time.Millisecond)
			for b := (bounds{maxTTL: maxTTL, drift: drift}); most > b.longestAtLeast(); {
				most = most / 1000 * 999
			}
			if most > 0 && (quorum.LingerTTL(most, drift) > maxTTL || quorum.LingerTTL(most, drift) < maxTTL*9/10-30*time.Millisecond) {
				t.Errorf("max ttl %v, drift %v: %v fits, and the key lives for %v", maxTTL, drift, most, quorum.LingerTTL(most, drift))
			}
		}
	}
	for _, drift := range []float64{0, 0.01, 0.5, 0.99} {
		for _, left := range []time.Duration{1, time.Millisecond, 20 * time.Millisecond, 1234567 * time.Microsecond, time.Hour} {
			ttl := quorum.LingerTTL(left, drift)
			if atLeast := ttl - quorum.TermsOf(ttl, 0, drift).Drift; atLeast < left-1 || atLeast > left+time.Millisecond || ttl%time.Millisecond != 0 {
				t.Errorf("drift %v: %v for %v lasts %v", drift, ttl, left, atLeast)
			}
		}
	}
}

func TestLockString(t *testing.T) {
	l := &Lock{h: &lease.Hold{Name: "job", Owner: lease.Owner{ID: "secret", Token: 17}}}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(format, l), `lock "job", token 17`; got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// An Observer with only one function can be called for every event. If the Observer has no
// function for an event, nothing is prepared for the event.
func TestObserverWithOneFunc(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[Observer]()
	for f := range fields.NumField() {
		var one Observer
		called := 0
		kind, name := fields.Field(f).Type, fields.Field(f).Name
		reflect.ValueOf(&one).Elem().Field(f).Set(reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
			called++
			return args[:kind.NumOut()]
		}))
		o := observerOf(one)
		for g := range fields.NumField() {
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			if in := fields.Field(g).Type; in.NumIn() == 1 {
				args[0] = reflect.Zero(in.In(0))
			} else {
				args = append(args, reflect.Zero(in.In(1)))
			}
			reflect.ValueOf(o.Observer).Field(g).Call(args)
		}
		inCall := kind.NumIn() == 2 && name != "Unlocked" // Unlocked has a context of its own
		want := observer{o.Observer, inCall, name == "Forgotten", name == "Unlocked", name == "MasterCalled"}
		if called != 1 || o.calls != want.calls || o.handles != want.handles || o.unlocks != want.unlocks || o.batches != want.batches {
			t.Errorf("%s: called %d times; calls, handles, unlocks, batches: %v %v %v %v", name, called, o.calls, o.handles, o.unlocks, o.batches)
		}
	}
}

// The default of an option depends on the other options that were set.
func TestDefaultTTLFits(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		opts  []Option
		call  []LockOption
		want  time.Duration
	}{
		{"nothing is set", nil, nil, limits.DefaultTTL},
		{"a short max ttl", []Option{WithMaxTTL(10 * time.Second)}, nil, 10 * time.Second},
		{"a long max ttl", []Option{WithMaxTTL(time.Hour)}, nil, limits.DefaultTTL},
		{"a max ttl and a lock delay", []Option{WithMaxTTL(10 * time.Second), WithLockDelay(4 * time.Second)}, nil, 6 * time.Second},
		{"a lock delay", []Option{WithLockDelay(40 * time.Second)}, nil, 20 * time.Second},
		{"a lock delay at the call", nil, []LockOption{WithLockDelay(40 * time.Second)}, 20 * time.Second},
		{"less lock delay at the call", []Option{WithLockDelay(40 * time.Second)}, []LockOption{WithLockDelay(0)}, limits.DefaultTTL},
		{"a ttl", []Option{WithMaxTTL(10 * time.Second), WithTTL(5 * time.Second)}, nil, 5 * time.Second},
		{"a ttl, and more at the call", []Option{WithTTL(5 * time.Second)}, []LockOption{WithTTL(6 * time.Second)}, 6 * time.Second},
	} {
		cfg, err := newConfig(x.opts)
		if err != nil {
			t.Errorf("%s: %v", x.claim, err)
			continue
		}
		got, err := cfg.request(x.call, mode{})
		if err != nil || got.TTL != x.want {
			t.Errorf("%s: the ttl is %v (%v), want %v", x.claim, got.TTL, err, x.want)
		}
	}
	_, err := newConfig([]Option{WithMaxTTL(10 * time.Second), WithTTL(11 * time.Second)})
	if o, ok := errors.AsType[*OptionError](err); !ok || o.Field != "ttl" {
		t.Errorf("a ttl above the max ttl: %v", err)
	}
}

// The error of an option has the given value and the rule. It names only options that were given.
func TestOptionErrorText(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		opts  []Option
		texts string
	}{
		{[]Option{WithTTL(-1)}, "invalid ttl -1ns: must be at least 50ms"},
		{[]Option{WithTTL(49999999)}, "invalid ttl 49.999999ms: must be at least 50ms"},
		{[]Option{WithTTL(500900 * time.Microsecond)}, "invalid ttl 500.9ms: must be above the request timeout (500ms)"},
		{[]Option{WithLockDelay(-1)}, "invalid lock delay -1ns: must not be negative"},
		{[]Option{WithLockDelay(-999 * time.Microsecond)}, "invalid lock delay -999µs: must not be negative"},
		{[]Option{WithMaxHold(0)}, "invalid max hold 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithMaxHold(-time.Hour)}, "invalid max hold -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(0)}, "invalid hold at least 0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithHoldAtLeast(-time.Hour)}, "invalid hold at least -1h0m0s: must be positive, and at most 876000h0m0s"},
		{[]Option{WithSlots(0)}, "invalid slots 0: must be 1 to 64"},
		{[]Option{WithSlots(-100)}, "invalid slots -100: must be 1 to 64"},
		{[]Option{WithLockDelay(time.Hour)}, "invalid lock delay 1h0m0s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithLockDelay(math.MaxInt64)}, "invalid lock delay 2562047h47m16.854775807s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]Option{WithMaxTTL(10 * time.Second), WithLockDelay(10 * time.Second)}, "invalid lock delay 10s: must be at most 9.499s, so that a ttl of 501ms or more is left of the max ttl (10s)"},
		{[]Option{WithRequestTimeout(time.Hour)}, "invalid request timeout 1h0m0s: must be below the ttl, which is 30s by default (the max ttl is 1m0s)"},
		{[]Option{WithRequestTimeout(time.Second), WithMaxTTL(time.Second)}, "invalid request timeout 1s: must be below the ttl, which is 1s by default (the max ttl is 1s)"},
		{[]Option{WithMaxTTL(500 * time.Millisecond)}, "invalid max ttl 500ms: must be above the request timeout (500ms), as every ttl"},
		{[]Option{WithDrift(0.99)}, "invalid drift 0.99: must be lower: its allowance leaves too little of the ttl (30s by default)"},
	} {
		if _, err := newConfig(x.opts); err == nil || err.Error() != "redlock: "+x.texts {
			t.Errorf("got %v, want %s", err, x.texts)
		}
	}
	for _, right := range [][]Option{
		{WithLockDelay(59499 * time.Millisecond)},
		{WithMaxTTL(501 * time.Millisecond)},
		{WithRequestTimeout(30*time.Second - 1)},
	} {
		if _, err := newConfig(right); err != nil {
			t.Error(err)
		}
	}
}

// Unlike retry strategies with state, an option behaves the same in a second call.
func TestOptionsCanBeReused(t *testing.T) {
	t.Parallel()
	opts := []LockOption{WithTTL(10 * time.Second), WithLockDelay(time.Second), WithMaxHold(time.Hour), WithWait(time.Second), WithoutWatchdog()}
	var first acquire.Options
	for i := range 100 {
		var l acquire.Options
		for _, o := range opts {
			o.applyLock(&l)
		}
		if i == 0 {
			first = l
		}
		if l != first {
			t.Fatalf("use %d differs: %+v, first %+v", i, l, first)
		}
	}
}
