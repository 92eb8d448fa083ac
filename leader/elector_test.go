package leader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/leader"
)

var background = context.Background()

const ttl = 5 * time.Second

// candidate is a running elector, and the events that it reported.
type candidate struct {
	*leader.Elector
	t      *testing.T
	client *redlock.Client
	stop   context.CancelCauseFunc
	ended  chan struct{}
	err    error // of Run

	mu     sync.Mutex
	events []string
	tokens []fence.Token
}

func (c *candidate) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, fmt.Sprintf(format, args...))
}

// take returns the events since the last call.
func (c *candidate) take() string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.events = nil }()
	return strings.Join(c.events, "; ")
}

func (c *candidate) requireEvents(want string) {
	c.t.Helper()
	if got := c.take(); got != want {
		c.t.Errorf("it got the events %q, want %q", got, want)
	}
}

// terms returns the tokens of the candidate's terms.
func (c *candidate) terms() []fence.Token {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tokens)
}

// last returns the token of the candidate's last term, or 0.
func (c *candidate) last() fence.Token {
	if all := c.terms(); len(all) > 0 {
		return all[len(all)-1]
	}
	return 0
}

type work = func(ctx context.Context, token fence.Token) error

// untilTheEnd leads as long as it may.
func untilTheEnd(ctx context.Context, _ fence.Token) error {
	<-ctx.Done()
	return ctx.Err()
}

// newCandidate returns a candidate that does not run.
func newCandidate(t *testing.T, d *harness.Deployment, opts ...leader.Option) *candidate {
	t.Helper()
	c := &candidate{t: t, client: d.Client(redlock.WithTTL(ttl)), ended: make(chan struct{})}
	var err error
	c.Elector, err = leader.New(c.client, "role", append([]leader.Option{leader.WithCallbacks(leader.Callbacks{
		Elected: func(token fence.Token) {
			c.mu.Lock()
			c.tokens = append(c.tokens, token)
			c.mu.Unlock()
			c.note("elected")
		},
		SteppedDown: func(token fence.Token, cause error) {
			if token != c.last() {
				t.Errorf("stepped down from term %v, which began as %v", token, c.last())
			}
			c.note("down: %v", cause)
		},
		Overdue: func(_ fence.Token, by time.Duration) { c.note("overdue %v", by) },
	})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run makes the candidate campaign until the end of the test, or until stop is called.
func (c *candidate) run(lead work) *candidate {
	ctx, cancel := context.WithCancelCause(background)
	c.stop = cancel
	go func() {
		defer close(c.ended)
		c.err = c.Run(ctx, lead)
	}()
	c.t.Cleanup(func() {
		cancel(nil)
		<-c.ended
	})
	return c
}

func campaign(t *testing.T, d *harness.Deployment, lead work, opts ...leader.Option) *candidate {
	t.Helper()
	return newCandidate(t, d, opts...).run(lead)
}

// within waits for a state, and returns how long that took.
func within(t *testing.T, most time.Duration, what string, state func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !state() {
		if time.Since(start) > most {
			t.Fatalf("not within %v: %s", most, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(start)
}

// One candidate leads at a time. When a leader resigns, another candidate leads at once, and the former leader pauses.
// Tokens grow.
func TestResign(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		harness.RequireErr(t, newCandidate(t, d).Resign(background), leader.ErrNotLeading)
		a := campaign(t, d, untilTheEnd, leader.WithPause(time.Minute))
		within(t, time.Second, "a leads", a.IsLeader)
		b := campaign(t, d, untilTheEnd)
		time.Sleep(3 * ttl) // the term is renewed
		if !a.IsLeader() || b.IsLeader() || b.last() != 0 {
			t.Errorf("a leads: %v, b: %v", a.IsLeader(), b.IsLeader())
		}
		harness.RequireErr(t, b.Resign(background), leader.ErrNotLeading)
		first := a.last()
		if token, leads := a.Token(); token != first || !leads {
			t.Errorf("its token is %v, %v; want %v", token, leads, first)
		}

		harness.Must(t, a.Resign(background))
		a.requireEvents("elected; down: " + leader.ErrResigned.Error())
		if _, leads := a.Token(); leads {
			t.Error("it has a token yet")
		}
		harness.RequireErr(t, a.Resign(background), leader.ErrNotLeading) // in the pause
		took := within(t, time.Second, "b leads", b.IsLeader)
		if took > 50*time.Millisecond || b.last() <= first {
			t.Errorf("b leads %v after, with token %v after %v", took, b.last(), first)
		}

		harness.Must(t, b.Resign(background)) // nobody else campaigns: a pauses
		took = within(t, time.Minute, "b leads again", b.IsLeader)
		if took < leader.DefaultPause || took > leader.DefaultPause+100*time.Millisecond || a.IsLeader() {
			t.Errorf("b leads again after %v", took)
		}
		time.Sleep(time.Minute)
		harness.Must(t, b.Resign(background))
		within(t, time.Second, "a leads again", a.IsLeader)
		if all := slices.Concat(a.terms()[:1], b.terms(), a.terms()[1:]); !slices.IsSorted(all) || len(all) != 4 {
			t.Errorf("tokens %v", all)
		}
	})
}

// A leader that loses its term notices in time, and campaigns again at once.
func TestLostTerm(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		causes := make(chan error, 2)
		carried := make(chan fence.Token, 2)
		a := campaign(t, d, func(ctx context.Context, token fence.Token) error {
			inIt, _ := fence.FromContext(ctx)
			carried <- inIt
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return fmt.Errorf("while leading: %w", ctx.Err())
		}, leader.WithPause(time.Hour))
		within(t, time.Second, "a leads", a.IsLeader)
		first := a.last()
		if got := <-carried; got != first {
			t.Errorf("the context carries %v, want %v", got, first)
		}
		harness.All(d.Masters[:2], harness.Master.Die)
		took := within(t, 2*ttl, "it knows", func() bool { return !a.IsLeader() })
		harness.RequireErr(t, <-causes, redlock.ErrExpired)
		if took > ttl {
			t.Errorf("after %v; its ttl is %v", took, ttl)
		}
		time.Sleep(time.Minute)
		if got := a.take(); !strings.HasPrefix(got, "elected; down: "+redlock.ErrExpired.Error()) || strings.Contains(got, "while leading") {
			t.Errorf("it got the events %q", got)
		}
		harness.All(d.Masters[:2], harness.Master.Revive)
		within(t, 10*time.Second, "it leads again", a.IsLeader)
		if a.last() <= first {
			t.Errorf("token %v after %v", a.last(), first)
		}
		a.requireEvents("elected")
	})
}

// A function that returns ends its term. Another candidate leads at once, and this candidate campaigns again after the
// pause.
func TestFuncReturns(t *testing.T) {
	for _, returns := range []error{nil, errors.New("out of paper")} {
		t.Run(fmt.Sprint(returns), func(t *testing.T) {
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				var calls atomic.Int64
				a := campaign(t, d, func(context.Context, fence.Token) error {
					calls.Add(1)
					return returns
				}, leader.WithPause(10*time.Second))
				time.Sleep(35 * time.Second)
				if n := calls.Load(); n != 4 {
					t.Errorf("in 35 s with a pause of 10 s it was called %d times", n)
				}
				want := "elected; down: " + leader.ErrReturned.Error()
				if returns != nil {
					want += ": out of paper"
				}
				a.requireEvents(strings.Join([]string{want, want, want, want}, "; "))
				b := campaign(t, d, untilTheEnd)
				if took := within(t, time.Second, "b leads", b.IsLeader); took > 50*time.Millisecond {
					t.Errorf("b leads after %v", took)
				}
			})
		})
	}
}

// A panic propagates, and the name is free.
func TestFuncPanics(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := newCandidate(t, d), newCandidate(t, d)
		take := func() (take any) {
			defer func() { take = recover() }()
			return a.Run(background, func(context.Context, fence.Token) error { panic("ouch") })
		}()
		if take != "ouch" {
			t.Errorf("Run ended with %v", take)
		}
		a.requireEvents("elected; down: " + leader.ErrPanicked.Error())
		b.run(untilTheEnd)
		if took := within(t, time.Second, "b leads", b.IsLeader); took > 50*time.Millisecond {
			t.Errorf("b leads after %v", took)
		}
		harness.Must(t, b.Resign(background))
		a.run(untilTheEnd) // Run may be called again
		within(t, time.Second, "a leads", a.IsLeader)
	})
}

// Run waits for a function that does not return: meanwhile its process does not lead a second time.
func TestFuncDoesNotReturn(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		hangs, under, most := make(chan struct{}), atomic.Int64{}, atomic.Int64{}
		a := campaign(t, d, func(ctx context.Context, _ fence.Token) error {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			<-hangs
			return nil
		})
		within(t, time.Second, "a leads", a.IsLeader)
		if a.Overdue() != 0 {
			t.Errorf("overdue by %v", a.Overdue())
		}

		// The candidate resigned: the name is kept until the function has returned.
		b := campaign(t, d, untilTheEnd)
		short, cancel := context.WithTimeout(background, 7500*time.Millisecond)
		defer cancel()
		harness.RequireErr(t, a.Resign(short), context.DeadlineExceeded)
		if got := a.Overdue(); got != 7500*time.Millisecond {
			t.Errorf("overdue by %v", got)
		}
		if a.IsLeader() || b.IsLeader() {
			t.Errorf("a leads: %v, b: %v", a.IsLeader(), b.IsLeader())
		}
		a.requireEvents("elected; overdue 1s; overdue 2s; overdue 4s")
		hangs <- struct{}{}
		within(t, time.Second, "b leads", b.IsLeader)
		a.requireEvents("down: " + leader.ErrResigned.Error())
		if a.Overdue() != 0 {
			t.Errorf("overdue by %v", a.Overdue())
		}
		harness.Must(t, b.Resign(background))
		within(t, 10*time.Second, "a leads", a.IsLeader)

		// The candidate lost the term: another candidate leads meanwhile, and this candidate does not campaign.
		harness.All(d.Masters[:2], harness.Master.Die)
		within(t, 2*ttl, "a knows", func() bool { return !a.IsLeader() })
		harness.All(d.Masters[:2], harness.Master.Revive)
		within(t, 3*ttl, "b leads", b.IsLeader)
		harness.Must(t, b.Resign(background))
		time.Sleep(time.Minute)
		if a.IsLeader() || most.Load() != 1 {
			t.Errorf("a leads: %v, calls at once: %d", a.IsLeader(), most.Load())
		}
		close(hangs)
	})
}

// ctx ends before Run, while another candidate leads, and while the candidate itself leads. In the last case the
// candidate keeps the name until the func returns.
func TestContextEnd(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		retire := errors.New("retired")
		over, cancel := context.WithCancel(background)
		cancel()
		harness.RequireErr(t, newCandidate(t, d).Run(over, untilTheEnd), context.Canceled)

		a := campaign(t, d, func(ctx context.Context, _ fence.Token) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return nil
		})
		within(t, time.Second, "a leads", a.IsLeader)
		b, c := campaign(t, d, untilTheEnd), campaign(t, d, untilTheEnd)
		time.Sleep(time.Second)
		b.stop(retire)
		<-b.ended
		harness.RequireErr(t, b.err, context.Canceled, retire)
		b.requireEvents("")

		start := time.Now()
		a.stop(retire)
		<-a.ended
		if took := time.Since(start); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("Run returned after %v", took)
		}
		harness.RequireErr(t, a.err, context.Canceled, retire)
		if got := a.take(); !strings.HasSuffix(got, "overdue 32s; down: retired") {
			t.Errorf("it got the events %q", got)
		}
		if took := within(t, time.Second, "c leads", c.IsLeader); took > 50*time.Millisecond {
			t.Errorf("c leads after %v", took)
		}
		c.stop(nil)
		<-c.ended
		if c.err != context.Canceled {
			t.Errorf("Run returned %v", c.err)
		}
	})
}

// The context ends just as the name is acquired: nobody leads, and the name is free.
func TestContextEndsAtElection(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		retire := errors.New("retired")
		ctx, cancel := context.WithCancelCause(background)
		acquired := 0
		client := d.Client(redlock.WithTTL(ttl), redlock.WithObserver(redlock.Observer{Acquired: func(context.Context, redlock.Acquisition) {
			acquired++
			cancel(retire)
		}}))
		e, err := leader.New(client, "role", leader.WithCallbacks(leader.Callbacks{Elected: func(fence.Token) { t.Error("it was elected") }}))
		harness.Must(t, err)
		harness.RequireErr(t, e.Run(ctx, untilTheEnd), context.Canceled, retire)
		if acquired != 1 {
			t.Errorf("the name was acquired %d times", acquired)
		}
		lock, err := d.Client(redlock.WithTTL(ttl)).TryLock(background, "role")
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(background))
	})
}

func TestClientCloses(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := campaign(t, d, untilTheEnd)
		within(t, time.Second, "a leads", a.IsLeader)
		b := campaign(t, d, untilTheEnd)
		time.Sleep(time.Second)
		for _, c := range []*candidate{b, a} {
			harness.Must(t, c.client.Close())
			<-c.ended
			harness.RequireErr(t, c.err, redlock.ErrClosed)
		}
		a.requireEvents("elected; down: " + redlock.ErrClosed.Error())
		b.requireEvents("")
		harness.RequireErr(t, newCandidate(t, d).run(untilTheEnd).Resign(background), leader.ErrNotLeading)
	})
}

func TestConcurrentRun(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := campaign(t, d, nil) // a nil func: the work is done with Token
		within(t, time.Second, "a leads", a.IsLeader)
		harness.RequireErr(t, a.Run(background, untilTheEnd), leader.ErrRunning)
		harness.Must(t, a.Resign(background))
		within(t, time.Minute, "a leads again", a.IsLeader)
		a.stop(nil)
		<-a.ended
		bounded, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		harness.RequireErr(t, a.Run(bounded, nil), context.DeadlineExceeded)
		if n := len(a.terms()); n != 3 {
			t.Errorf("it led %d times", n)
		}
	})
}

// Any process may ask for the leader, and is notified of changes.
func TestWatchLeader(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		asker := d.Client()
		_, err := leader.Of(background, asker, "role")
		harness.RequireErr(t, err, leader.ErrNoLeader)
		_, err = leader.Of(background, asker, "")
		harness.RequireErr(t, err, redlock.ErrBadOption)

		var mu sync.Mutex
		events := map[string][]string{}
		record := func(who string) func(leader.Leader) {
			return func(l leader.Leader) {
				mu.Lock()
				defer mu.Unlock()
				events[who] = append(events[who], fmt.Sprint(l.Name, " ", l.Token))
			}
		}
		watching, cancel := context.WithCancel(background)
		watched := make(chan error, 1)
		go func() { watched <- leader.Watch(watching, asker, "role", 100*time.Millisecond, record("asker")) }()

		var all []string
		var candidates []*candidate
		for n := range 2 {
			name := fmt.Sprint("node-", n)
			c := newCandidate(t, d, leader.WithCallbacks(leader.Callbacks{NewLeader: record(name)}), leader.WithPoll(time.Second), leader.WithPause(time.Hour))
			harness.Must(t, c.client.Ready(background))
			harness.Must(t, c.client.SetName(name))
			time.Sleep(time.Second) // the masters get the name in the background
			c.run(untilTheEnd)
			candidates = append(candidates, c)
			time.Sleep(10 * time.Second)
		}
		for n, c := range candidates {
			token, leads := c.Token()
			if !leads {
				t.Fatalf("node-%d does not lead", n)
			}
			all = append(all, fmt.Sprint("node-", n, " ", token))
			for _, who := range candidates {
				l, err := who.Leader(background)
				harness.Must(t, err)
				if l.Name != fmt.Sprint("node-", n) || l.Token != token || l.Host == "" || l.Term == "" {
					t.Errorf("node-%d leads, and the leader is %+v", n, l)
				}
			}
			harness.Must(t, c.Resign(background))
			time.Sleep(10 * time.Second)
		}
		_, err = candidates[0].Leader(background)
		harness.RequireErr(t, err, leader.ErrNoLeader)
		mu.Lock()
		for _, who := range []string{"asker", "node-0", "node-1"} {
			if !slices.Equal(events[who], all) {
				t.Errorf("%s got %q, want %q", who, events[who], all)
			}
		}
		mu.Unlock()
		cancel()
		harness.RequireErr(t, <-watched, context.Canceled)
		harness.RequireErr(t, leader.Watch(background, asker, "", time.Second, nil), redlock.ErrBadOption)
		harness.Must(t, asker.Close())
		harness.RequireErr(t, leader.Watch(background, asker, "role", time.Second, nil), redlock.ErrClosed)
		harness.RequireErr(t, asker.SetName("late"), redlock.ErrClosed)
	})
}

func TestBadInput(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		client := d.Client()
		for field, bad := range map[string]struct {
			name string
			opt  leader.Option
		}{
			"invalid name ":                {"", nil},
			"invalid name of 1025 bytes: ": {strings.Repeat("x", limits.MaxNameLen+1), nil},
			"invalid options[0] ":          {"role", nil},
			"invalid pause -1ns: ":         {"role", leader.WithPause(-1)},
			"invalid poll 1ms: ":           {"role", leader.WithPoll(time.Millisecond)},
			"invalid lock options[0] ":     {"role", leader.WithLock(nil)},
			"invalid ttl 1h0m0s: ":         {"role", leader.WithLock(redlock.WithTTL(time.Hour))},
			"invalid slots 2: ":            {"role", leader.WithLock(redlock.WithSlots(2))},
		} {
			_, err := leader.New(client, bad.name, bad.opt)
			harness.RequireErr(t, err, redlock.ErrBadOption)
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%v; want %q in it", err, field)
			}
		}
		harness.RequireErr(t, leader.Watch(background, client, "role", 0, nil), redlock.ErrBadOption)
		_, err := leader.New(client, strings.Repeat("x", limits.MaxNameLen), leader.WithPoll(leader.MinPoll), leader.WithPause(0))
		harness.Must(t, err) // the bounds themselves are allowed
		over, cancel := context.WithCancel(background)
		cancel()
		harness.RequireErr(t, leader.Watch(over, client, "role", leader.MinPoll, nil), context.Canceled)
		_, err = leader.New(client, "", nil, leader.WithPoll(0))
		for _, field := range []string{"invalid options[0] ", "invalid name ", "invalid poll "} {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%v; want %q in it", err, field)
			}
		}
		_, err = leader.New(d.Client(redlock.WithSlots(2)), "role")
		harness.RequireErr(t, err, redlock.ErrBadOption)
		e, err := leader.New(d.Client(redlock.WithMaxTTL(2*time.Minute)), "role") // more than the deployment allows
		harness.Must(t, err)
		harness.RequireErr(t, e.Run(background, untilTheEnd), redlock.ErrBadOption)
		harness.RequireErr(t, client.SetName(strings.Repeat("x", 257)), redlock.ErrBadOption)
	})
}

// A campaign whose wait is bounded by lock options fails, and is repeated after a pause.
func TestCampaignWithBoundedWait(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := campaign(t, d, untilTheEnd)
		within(t, time.Second, "a leads", a.IsLeader)
		b := campaign(t, d, untilTheEnd, leader.WithPause(time.Hour), leader.WithLock(redlock.WithWait(0)))
		time.Sleep(10 * time.Second)
		harness.Must(t, a.Resign(background))
		within(t, time.Second, "b leads", b.IsLeader)
	})
}
