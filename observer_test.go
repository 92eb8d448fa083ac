package redlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// callKey is under which a call is in the contexts that its observer gets.
type callKey struct{}

// watcher is an observer that writes down what it is told, and by which call.
func (r *recorder) watcher() Observer {
	note := func(ctx context.Context, format string, args ...any) {
		r.note("%v: %s", ctx.Value(callKey{}), fmt.Sprintf(format, args...))
	}
	return Observer{
		Started: func(ctx context.Context, c LockCall) context.Context {
			ctx = context.WithValue(ctx, callKey{}, fmt.Sprintf("%v%v", ctx.Value(callKey{}), c.Names))
			note(ctx, "started, set %v, reads %v, waits %v, slots %d", c.Set, c.Reads, c.Waits, c.Slots)
			return ctx
		},
		AttemptFailed: func(ctx context.Context, a FailedAttempt) {
			note(ctx, "%s failed, set %v, reads %v, waits %v", a.Name, a.Set, a.Reads, a.Waits)
		},
		Finished: func(ctx context.Context, f LockResult) {
			note(ctx, "finished after %v, %d attempts, re-entry %v, %v", f.Took, f.Attempts, f.ReEntry, f.Err == nil)
		},
		Acquired: func(ctx context.Context, a Acquisition) {
			note(ctx, "acquired %s, slot %d, set %v, reads %v, token %v, after %v, %d votes", a.Name, a.Slot, a.Set, a.Reads, a.Token.Valid(), a.Took, len(a.Votes))
		},
		Renewed: func(ctx context.Context, f Renewal) { note(ctx, "renewed %s for %v", f.Name, f.ValidFor) },
		RenewalFailed: func(ctx context.Context, f FailedRenewal) {
			note(ctx, "not renewed %s, %v left, %v", f.Name, f.ValidFor, errors.Is(f.Err, ErrNoQuorum))
		},
		Ended: func(ctx context.Context, e HoldEnd) {
			note(ctx, "ended %s after %v, taken for %v, %v", e.Name, e.Held, e.TakenFor, e.Cause)
		},
		Unlocked: func(ctx context.Context, u UnlockResult) {
			note(ctx, "unlocked %v, set %v, reads %v, after %v, %v", u.Names, u.Set, u.Reads, u.Took, u.Err)
		},
	}
}

// told checks what was told since it was asked the last time.
func (r *recorder) told(t *testing.T, want ...string) {
	t.Helper()
	if events := r.take(); !slices.Equal(events, want) {
		t.Errorf("told\n\t%s\nwant\n\t%s", strings.Join(events, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// take returns what was told since it was called the last time.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// watched is a client of which events is told, from now on.
func (d *deployment) watched(events *recorder, opts ...Option) *Client {
	c := d.reached(append([]Option{WithObserver(events.watcher())}, opts...)...)
	synctest.Wait()
	events.take()
	return c
}

// Who waits is told why each attempt failed.
func TestObserverOfAttempts(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var why []error
		c := d.reached(WithObserver(Observer{AttemptFailed: func(_ context.Context, a FailedAttempt) {
			if a.Name == "a" && a.Waits {
				why = append(why, a.Err)
			}
		}}))
		fails := func(want error) {
			t.Helper()
			why = nil
			_, err := c.Lock(t.Context(), "a", WithWait(5*time.Second))
			requireErr(t, err, context.DeadlineExceeded, want)
			synctest.Wait()
			if len(why) < 2 {
				t.Errorf("told %d times in 5s: %v", len(why), why)
			}
			for _, err := range why {
				if !errors.Is(err, want) {
					t.Errorf("told %v, want %v", err, want)
				}
			}
		}
		held := mustTry(t, d.reached(), "a")
		fails(ErrHeld)
		must(t, held.Unlock(t.Context()))
		synctest.Wait() // the third master is free as well
		for _, m := range d.masters[:2] {
			m.die()
		}
		fails(ErrNoQuorum)
	})
}

// An attempt for which no master could be asked is told too, with how long each took.
func TestObserverOfAttemptsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		for _, m := range d.masters {
			m.freeze()
		}
		var failed []FailedAttempt
		watch := WithObserver(Observer{AttemptFailed: func(_ context.Context, a FailedAttempt) { failed = append(failed, a) }})
		_ = d.stranger(watch).mustFail(t, "unknown")
		c.observer = defaultConfig().observer
		watch.applyClient(&c.config)
		_ = c.mustFail(t, "known")
		if len(failed) != 2 || failed[0].Name != "unknown" || failed[0].Took != 0 || failed[1].Name != "known" || failed[1].Took != c.requestTimeout {
			t.Errorf("told %+v", failed)
		}
		for _, a := range failed {
			requireErr(t, a.Err, ErrNoQuorum, ErrNotAcquired)
		}
	})
}

// A call and its hold are told from begin to end, with the context that Started returned.
func TestObserverOfAHold(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		c := d.watched(&events)
		ctx := context.WithValue(t.Context(), callKey{}, "mine")
		lock, err := c.Lock(ctx, "a", WithTTL(30*time.Second))
		must(t, err)
		events.told(t,
			"mine[a]: started, set false, reads false, waits true, slots 0",
			"mine[a]: acquired a, slot 0, set false, reads false, token true, after 0s, 3 votes",
			"mine[a]: finished after 0s, 1 attempts, re-entry false, true")
		time.Sleep(10*time.Second + time.Millisecond)
		valid := 30*time.Second - lock.h.Terms().Drift
		events.told(t, fmt.Sprint("mine[a]: renewed a for ", valid))
		again, err := c.TryLock(lock.Context(), "a")
		must(t, err)
		must(t, again.Unlock(context.WithValue(t.Context(), callKey{}, "other")))
		events.told(t,
			"mine[a]: started, set false, reads false, waits false, slots 0",
			"mine[a]: finished after 0s, 0 attempts, re-entry true, true",
			"other: unlocked [a], set false, reads false, after 0s, <nil>")
		must(t, lock.Unlock(t.Context()))
		requireErr(t, lock.Unlock(t.Context()), ErrReleased)
		events.told(t,
			fmt.Sprintf("mine[a]: ended a after %v, taken for 0s, %v", 10*time.Second+time.Millisecond, ErrReleased),
			"<nil>: unlocked [a], set false, reads false, after 0s, <nil>",
			fmt.Sprint("<nil>: unlocked [a], set false, reads false, after 0s, ", ErrReleased))
		if lock.Context().Value(callKey{}) != "mine" {
			t.Error("the hold's context is the observer's")
		}
	})
}

// A call that fails is told with what it waited and how often it asked.
func TestObserverOfACallThatGivesUp(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		held := mustTry(t, d.reached(), "a")
		var events recorder
		c := d.watched(&events)
		_ = c.mustFail(t, "a")
		events.told(t,
			"<nil>[a]: started, set false, reads false, waits false, slots 0",
			"<nil>[a]: a failed, set false, reads false, waits false",
			"<nil>[a]: finished after 0s, 1 attempts, re-entry false, false")
		_, err := c.Lock(t.Context(), "a", WithWait(time.Second/2))
		requireErr(t, err, ErrHeld)
		failed := events.count("<nil>[a]: a failed, set false, reads false, waits true")
		if failed < 1 || events.count(fmt.Sprintf("<nil>[a]: finished after 500ms, %d attempts, re-entry false, false", failed)) != 1 {
			t.Errorf("told %q", events.take())
		}
		events.take()
		_, err = c.Lock(t.Context(), "")
		requireErr(t, err, ErrBadOption)
		events.told(t) // of bad input, nothing
		must(t, held.Unlock(t.Context()))
		must(t, c.Close())
		_, err = c.Lock(t.Context(), "a")
		requireErr(t, err, ErrClosed)
		events.told(t,
			"<nil>[a]: started, set false, reads false, waits true, slots 0",
			"<nil>[a]: finished after 0s, 0 attempts, re-entry false, false")
	})
}

// Readers, sets and slots are told as such.
func TestObserverOfReadersSetsAndSlots(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		c := d.watched(&events)
		reader, err := c.RLock(t.Context(), "a")
		must(t, err)
		must(t, reader.Unlock(t.Context()))
		events.told(t,
			"<nil>[a]: started, set false, reads true, waits true, slots 0",
			"<nil>[a]: acquired a, slot 0, set false, reads true, token false, after 0s, 3 votes",
			"<nil>[a]: finished after 0s, 1 attempts, re-entry false, true",
			"<nil>[a]: ended a after 0s, taken for 0s, "+ErrReleased.Error(),
			"<nil>: unlocked [a], set false, reads true, after 0s, <nil>")
		writer := mustTry(t, c, "a")
		must(t, writer.Downgrade(t.Context()))
		events.take()
		must(t, writer.Unlock(t.Context()))
		if events.count("<nil>: unlocked [a], set false, reads false") != 1 {
			t.Errorf("a writer that was downgraded: %q", events.take())
		}
		synctest.Wait()
		events.take()

		set, err := c.TryLockAll(t.Context(), []string{"b", "a"})
		must(t, err)
		time.Sleep(time.Second)
		_, err = c.TryLockAll(t.Context(), []string{"a", "C"})
		requireErr(t, err, ErrHeld)
		must(t, set.Unlock(t.Context()))
		events.told(t,
			"<nil>[a b]: started, set true, reads false, waits false, slots 0",
			"<nil>[a b]: acquired a, slot 0, set true, reads false, token true, after 0s, 3 votes",
			"<nil>[a b]: acquired b, slot 0, set true, reads false, token true, after 0s, 3 votes",
			"<nil>[a b]: finished after 0s, 1 attempts, re-entry false, true",
			"<nil>[C a]: started, set true, reads false, waits false, slots 0",
			"<nil>[C a]: a failed, set true, reads false, waits false",
			"<nil>[C a]: finished after 0s, 1 attempts, re-entry false, false",
			"<nil>[a b]: ended a after 1s, taken for 0s, "+ErrReleased.Error(),
			"<nil>[a b]: ended b after 1s, taken for 0s, "+ErrReleased.Error(),
			"<nil>: unlocked [a b], set true, reads false, after 0s, <nil>")

		must(t, mustTry(t, c, "d", WithSlots(1)).Unlock(t.Context()))
		if events.count("<nil>[d]: acquired d~slot1, slot 1, ") != 1 || events.count("<nil>[d]: started, set false, reads false, waits false, slots 1") != 1 {
			t.Errorf("slots: %q", events.take())
		}
		events.take()
		must(t, mustTry(t, c, "e", WithHoldAtLeast(5*time.Second)).Unlock(t.Context()))
		if events.count("<nil>[e]: ended e after 0s, taken for 5s, "+ErrReleased.Error()) != 1 {
			t.Errorf("it lingers: %q", events.take())
		}
	})
}

// Renewals that fail are told before the hold ends, and so is the Unlock after it.
func TestObserverOfAHoldThatCannotBeRenewed(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		c := d.watched(&events)
		lock := mustTry(t, c, "a", WithTTL(30*time.Second))
		synctest.Wait()
		d.masters[0].die()
		time.Sleep(10*time.Second + time.Millisecond)
		if events.count("<nil>[a]: renewed") != 1 || events.count("<nil>[a]: not renewed") != 0 {
			t.Errorf("with one master gone: %q", events.take())
		}
		d.masters[1].die()
		<-lock.Context().Done()
		synctest.Wait()
		failed := events.count("<nil>[a]: not renewed a, ")
		all := events.take()
		if failed < 2 || !strings.HasSuffix(all[len(all)-2], "left, true") {
			t.Errorf("%d failed renewals: %q", failed, all)
		}
		last := all[len(all)-1]
		if !strings.HasPrefix(last, "<nil>[a]: ended a after 39.6") || !strings.HasSuffix(last, ErrExpired.Error()) {
			t.Errorf("the end: %q", last)
		}
		requireErr(t, lock.Unlock(t.Context()), ErrExpired)
		events.told(t, fmt.Sprint("<nil>: unlocked [a], set false, reads false, after 0s, ", ErrExpired))
	})
}

// A renewal that is under way when the hold ends is of no interest any more.
func TestObserverOfARenewalThatTheUnlockOvertakes(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		c := d.watched(&events)
		lock := mustTry(t, c, "a", WithTTL(30*time.Second))
		synctest.Wait()
		d.masters[0].freeze()
		d.masters[1].freeze()
		time.Sleep(10*time.Second + time.Millisecond)
		requireErr(t, lock.Unlock(t.Context()), ErrNoQuorum)
		time.Sleep(2 * c.requestTimeout)
		synctest.Wait()
		if events.count("<nil>[a]: not renewed") != 0 || events.count("<nil>[a]: ended") != 1 {
			t.Errorf("told %q", events.take())
		}
	})
}

// An Unlock that reaches no quorum is told with its error, and how long it tried.
func TestObserverOfAnUnlockWithoutAQuorum(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var told []UnlockResult
		c := d.reached(WithObserver(Observer{Unlocked: func(_ context.Context, u UnlockResult) { told = append(told, u) }}))
		lock := mustTry(t, c, "a")
		synctest.Wait()
		told = nil
		d.masters[0].freeze()
		d.masters[1].freeze()
		err := lock.Unlock(t.Context())
		requireErr(t, err, ErrNoQuorum)
		if len(told) != 1 || told[0].Err != err || told[0].Took != c.requestTimeout {
			t.Errorf("told %+v", told)
		}
	})
}

// Each batch is told: how much was in it, how long it took, and why there is no answer.
func TestObserverOfMasterCalls(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		calls := make(chan MasterCall, 1000)
		c := d.reached(WithObserver(Observer{MasterCalled: func(call MasterCall) { calls <- call }}))
		all := func() (told []MasterCall) {
			synctest.Wait()
			for len(calls) > 0 {
				told = append(told, <-calls)
			}
			slices.SortFunc(told, func(a, b MasterCall) int { return strings.Compare(a.Master, b.Master) })
			return told
		}
		all()
		set, err := c.LockAll(t.Context(), []string{"a", "b", "c"})
		must(t, err)
		for i, call := range all() {
			if want := (MasterCall{Master: d.address(i), Operations: 3}); call != want {
				t.Errorf("told %+v, want %+v", call, want)
			}
		}
		d.masters[2].freeze()
		must(t, set.Unlock(t.Context()))
		time.Sleep(c.requestTimeout)
		told := all()
		if len(told) != 3 || told[2].Master != d.address(2) || told[2].Err == nil || told[2].Took != c.requestTimeout {
			t.Errorf("with one master that hangs: told %+v", told)
		}
	})
}

// Observers tells all of them, whatever they want to know, in their order.
func TestObserversTellsAll(t *testing.T) {
	t.Parallel()
	var told []string
	all := make([]Observer, 2)
	for i := range all {
		o := reflect.ValueOf(&all[i]).Elem()
		for f := range o.NumField() {
			name := fmt.Sprint(o.Type().Field(f).Name, i)
			o.Field(f).Set(reflect.MakeFunc(o.Field(f).Type(), func(args []reflect.Value) []reflect.Value {
				told = append(told, name)
				if o.Field(f).Type().NumOut() == 1 {
					ctx := args[0].Interface().(context.Context)
					return []reflect.Value{reflect.ValueOf(context.WithValue(ctx, callKey{}, fmt.Sprintf("%v%v", ctx.Value(callKey{}), i)))}
				}
				return nil
			}))
		}
	}
	both := reflect.ValueOf(Observers(append([]Observer{{}}, all...)...))
	for f := range both.NumField() {
		told = nil
		var args []reflect.Value
		for i := range both.Field(f).Type().NumIn() {
			in := both.Field(f).Type().In(i)
			if in.Kind() == reflect.Interface {
				args = append(args, reflect.ValueOf(background))
			} else {
				args = append(args, reflect.Zero(in))
			}
		}
		out := both.Field(f).Call(args)
		name := both.Type().Field(f).Name
		if want := []string{name + "0", name + "1"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if len(out) == 1 && out[0].Interface().(context.Context).Value(callKey{}) != "<nil>01" {
			t.Error("the context of the first is not given to the second")
		}
	}
	if none := reflect.ValueOf(Observers(Observer{}, Observer{})); !none.IsZero() {
		t.Error("observers that want to know nothing cost something")
	}
}

// A context that is nil is a fault of the program, and said at once.
func TestObserverThatReturnsNoContext(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		c.observer.Started = func(context.Context, LockCall) context.Context { return nil }
		defer func() {
			if got := fmt.Sprint(recover()); got != "redlock: Observer.Started returned a nil context" {
				t.Errorf("panic %q", got)
			}
		}()
		_, _ = c.TryLock(t.Context(), "a")
	})
}

// A call of which nothing is to be told keeps nothing for it.
func TestObserverThatWantsNoCalls(t *testing.T) {
	t.Parallel()
	o := reflect.TypeFor[Observer]()
	for f := range o.NumField() {
		var one Observer
		field := reflect.ValueOf(&one).Elem().Field(f)
		field.Set(reflect.MakeFunc(field.Type(), nil))
		inCall := field.Type().In(0).Kind() == reflect.Interface && o.Field(f).Name != "Unlocked" // which has a context of its own
		if one.wantsCalls() != inCall {
			t.Errorf("%s: wants calls: %v", o.Field(f).Name, one.wantsCalls())
		}
	}
}

// paired checks that what begins ends, once and in this order.
type paired struct {
	t       *testing.T
	mu      sync.Mutex
	calls   map[*LockCall]bool
	holds   map[pairedHold]bool
	causes  map[error]int
	refused int
}

// pairedHold is a hold of a call. Readers have no token, but each has a call of its own.
type pairedHold struct {
	call *LockCall
	hold Hold
}

func (p *paired) observer() Observer {
	callOf := func(ctx context.Context) *LockCall { return ctx.Value(callKey{}).(*LockCall) }
	return Observer{
		Started: func(ctx context.Context, call LockCall) context.Context {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.calls[&call] = true
			return context.WithValue(ctx, callKey{}, &call)
		},
		Finished: func(ctx context.Context, r LockResult) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if !p.calls[callOf(ctx)] {
				p.t.Errorf("a call for %q finished that had not begun, or twice", r.Names)
			}
			delete(p.calls, callOf(ctx))
			if r.Err != nil {
				p.refused++
			}
		},
		Acquired: func(ctx context.Context, a Acquisition) {
			p.mu.Lock()
			defer p.mu.Unlock()
			h := pairedHold{callOf(ctx), a.Hold}
			if p.holds[h] {
				p.t.Errorf("%+v was acquired twice", h.hold)
			}
			p.holds[h] = true
		},
		Ended: func(ctx context.Context, e HoldEnd) {
			p.mu.Lock()
			defer p.mu.Unlock()
			h := pairedHold{callOf(ctx), e.Hold}
			if !p.holds[h] {
				p.t.Errorf("%+v ended that was not held: %v", h.hold, e.Cause)
			}
			delete(p.holds, h)
			p.causes[e.Cause]++
		},
	}
}

// Whatever happens to masters, each call that was told to begin is told to end, and so is each
// hold, and the end comes after the begin.
func TestObserverIsToldOfEachEnd(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		p := &paired{t: t, calls: map[*LockCall]bool{}, holds: map[pairedHold]bool{}, causes: map[error]int{}}
		seed := rand.Uint64()
		end := time.Now().Add(2 * time.Minute)
		var working sync.WaitGroup
		var clients []*Client
		for i := range 3 {
			c := d.reached(WithObserver(p.observer()), WithTTL(time.Second), WithRequestTimeout(200*time.Millisecond), WithWait(time.Second))
			clients = append(clients, c)
			for j := range 3 {
				working.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(3*i+j)))
					for time.Now().Before(end) {
						lockAndLeave(c, random)
					}
				})
			}
		}
		for time.Now().Before(end) {
			time.Sleep(3 * time.Second)
			for _, m := range d.masters[:2] {
				m.freeze()
			}
			time.Sleep(1500 * time.Millisecond) // what is held then expires
			for _, m := range d.masters[:2] {
				m.thaw()
			}
		}
		working.Wait()
		open, err := clients[0].Lock(background, "open", WithWait(patience))
		must(t, err)
		for _, c := range clients {
			must(t, c.Close())
		}
		<-open.Context().Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.calls) > 0 || len(p.holds) > 0 {
			t.Errorf("seed %d: %d calls and %d holds did not end", seed, len(p.calls), len(p.holds))
		}
		if p.causes[ErrReleased] == 0 || p.causes[ErrExpired] == 0 || p.causes[ErrClosed] != 1 || p.refused == 0 {
			t.Errorf("seed %d: nothing was tried: %d calls failed, holds ended by %v", seed, p.refused, p.causes)
		}
	})
}

// An end that comes at once is told after the begin.
func TestObserverIsToldOfTheBeginFirst(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		var events recorder
		c.observer = Observer{
			Acquired: func(context.Context, Acquisition) {
				time.Sleep(2 * time.Second) // beyond the lease
				events.note("acquired")
			},
			Ended: func(context.Context, HoldEnd) { events.note("ended") },
		}
		lock := mustTry(t, c, "a", WithTTL(time.Second), WithoutWatchdog())
		<-lock.Context().Done()
		set, err := c.TryLockAll(background, []string{"b"}, WithTTL(time.Second), WithoutWatchdog())
		must(t, err)
		<-set.Context().Done()
		synctest.Wait()
		events.told(t, "acquired", "ended", "acquired", "ended")
	})
}

// lockAndLeave takes a lock of some kind, and leaves it when it is lost or before.
func lockAndLeave(c *Client, random *rand.Rand) {
	work := time.Duration(random.IntN(int(2 * time.Second)))
	name := fmt.Sprint("n", random.IntN(3))
	var err error
	switch random.IntN(4) {
	case 0:
		var locks *Locks
		if locks, err = c.LockAll(background, []string{"n0", "n1", "n2"}[random.IntN(2):]); err == nil {
			time.Sleep(work)
			_ = locks.Unlock(background)
		}
	default:
		take := []func() (*Lock, error){
			func() (*Lock, error) { return c.Lock(background, name) },
			func() (*Lock, error) { return c.RLock(background, name) },
			func() (*Lock, error) { return c.Lock(background, name, WithSlots(2)) },
		}[random.IntN(3)]
		var lock *Lock
		if lock, err = take(); err == nil {
			if again, err := c.TryRLock(lock.Context(), lock.Name()); err == nil {
				_ = again.Unlock(background)
			}
			time.Sleep(work)
			_ = lock.Unlock(background)
		}
	}
	if err != nil {
		time.Sleep(work / 20)
	}
}

// Who wants one thing to be told is told that, and nothing else is asked of it.
func TestObserverOfOneThing(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"AttemptFailed": 2, "Finished": 1, "Acquired": 1, "Renewed": 1, "RenewalFailed": 1, "Ended": 1, "ClockJumped": 1, "MasterCalled": 1,
		"MasterDown": 1, "MasterUp": 1, "NotAMember": 1, "VersionLearned": 1, "MemberChanged": 1,
	}
	o := reflect.TypeFor[Observer]()
	for f := range o.NumField() {
		name := o.Field(f).Name
		if name == "Started" || name == "Unlocked" {
			continue // only who has them is asked at all
		}
		told := 0
		c := &Client{config: defaultConfig(), masters: []*master.Master{{}}}
		c.now = func() clock.Instant { return 1 }
		field := reflect.ValueOf(&c.observer).Elem().Field(f)
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
			told++
			return nil
		}))
		tells := &telling{client: c, ctx: background}
		c.holds = lease.NewHolds(lease.Client{Now: c.now, Masters: c.masters})
		h := c.holds.New(testvotes.ViewOfAll(1), "job", "owner", c.config.lock.hold(0))
		votes := []script.Vote{{Heard: true, Answer: script.Granted, Sent: 1, Got: 1}}
		h.Count(votes, votes)
		tells.acquired(h, 0, nil)
		tells.Renewed(h, time.Second)
		tells.RenewalFailed(h, testvotes.ViewOfAll(1), nil)
		tells.Ended(h, ErrReleased)
		tells.ClockJumped(h, 0, time.Second)
		tells.finished(nil)
		tells.failed("job", 0, ErrNoQuorum)
		tells.notMade("job", ErrNoQuorum)
		var nobody *telling
		nobody.finished(nil)
		nobody.failed("job", 0, ErrNoQuorum)
		nobody.notMade("job", ErrNoQuorum)
		c.tellUp("m")
		c.tellDown("m", ErrNoQuorum)
		c.tellOut("m", ErrNoQuorum)
		c.tellVersion(testvotes.ViewOfAll(2))
		c.tellMemberChanges(testvotes.ViewOfAll(2), testvotes.ViewOfAll(1))
		if tell := c.callTeller("m"); tell != nil {
			tell(time.Second, 1, nil)
		}
		if told != want[name] {
			t.Errorf("%s is told %d times, want %d", name, told, want[name])
		}
	}
}

// logLines keeps what is logged, a line each, without the time and with names only of what
// differs from run to run.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "token":
			return slog.Bool("token", a.Value.Uint64() > 0)
		}
		return a
	}}))
}

// take returns the lines since it was called the last time.
func (l *logLines) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(l.text.String()), "\n")
	l.text.Reset()
	return lines
}

// What an operator has to see has a level above that of what is as it should be.
func TestLogObserver(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var out logLines
		c := d.reached(WithObserver(LogObserver(out.logger())))
		logged := func(want ...string) {
			t.Helper()
			lines := out.take()
			for _, w := range want {
				found := false
				for _, line := range lines {
					found = found || strings.HasPrefix(line, w)
				}
				if !found {
					t.Errorf("not logged: %s\nlogged:\n\t%s", w, strings.Join(lines, "\n\t"))
				}
			}
		}
		silent := func(level string) {
			t.Helper()
			for _, line := range out.take() {
				if strings.HasPrefix(line, "level="+level) {
					t.Errorf("logged %s", line)
				}
			}
		}
		logged(`level=INFO msg="redlock: master up" master=`+d.address(0), `level=INFO msg="redlock: table of members learned" version=`)

		lock := mustTry(t, c, "a", WithTTL(30*time.Second))
		time.Sleep(10*time.Second + time.Millisecond)
		_, err := c.TryLock(background, "a")
		requireErr(t, err, ErrHeld)
		again, err := c.TryRLock(lock.Context(), "a")
		must(t, err)
		must(t, again.Unlock(background))
		must(t, lock.Unlock(background))
		synctest.Wait()
		logged(
			`level=DEBUG msg="redlock: lock acquired" lock=a token=true mode=write took=0s`,
			`level=DEBUG msg="redlock: locked" lock=a mode=write took=0s attempts=1`,
			`level=DEBUG msg="redlock: lock renewed" lock=a token=true mode=write valid_for=29.6`,
			`level=DEBUG msg="redlock: lock attempt failed" lock=a mode=write took=0s error="redlock: held by another`,
			`level=DEBUG msg="redlock: not locked" lock=a mode=write took=0s attempts=1 error="redlock: held by another`,
			`level=DEBUG msg="redlock: entered again" lock=a mode=read took=0s attempts=0`,
			`level=DEBUG msg="redlock: lock released" lock=a token=true mode=write held=10.001s taken_for=0s`)

		must(t, mustTry(t, c, "b").Unlock(background))
		set, err := c.LockAll(background, []string{"b", "c"})
		must(t, err)
		_, err = c.Lock(background, "b", WithWait(time.Second))
		requireErr(t, err, ErrHeld)
		must(t, set.Unlock(background))
		requireErr(t, set.Unlock(background), ErrReleased)
		logged(
			`level=DEBUG msg="redlock: locked" locks="[b c]" mode=write`,
			`level=INFO msg="redlock: not locked" lock=b mode=write took=1s attempts=`,
			`level=WARN msg="redlock: unlock failed" locks="[b c]" mode=write took=0s error="redlock: already released"`)

		lock = mustTry(t, c, "d", WithTTL(30*time.Second))
		silent("WARN")
		d.masters[0].die()
		d.masters[1].die()
		<-lock.Context().Done()
		requireErr(t, lock.Unlock(background), ErrExpired)
		_, err = c.TryLock(background, "e")
		requireErr(t, err, ErrNoQuorum)
		logged(
			`level=WARN msg="redlock: lock not renewed" lock=d token=true mode=write valid_for=`,
			`level=WARN msg="redlock: master down" master=`+d.address(0)+` error=`,
			`level=ERROR msg="redlock: lock lost before its unlock" lock=d token=true mode=write held=29.6`,
			`level=WARN msg="redlock: unlock failed" lock=d mode=write took=0s error="redlock: lease expired"`,
			`level=WARN msg="redlock: not locked" lock=e mode=write took=`,
			`level=DEBUG msg="redlock: no answer of a master" master=`)
	})
}

// Everything that an observer is told is logged, but for the start of a call.
func TestLogObserverLogsAll(t *testing.T) {
	t.Parallel()
	o := reflect.ValueOf(LogObserver(slog.New(slog.DiscardHandler)))
	for f := range o.NumField() {
		if name := o.Type().Field(f).Name; o.Field(f).IsNil() != (name == "Started") {
			t.Errorf("%s is nil: %v", name, o.Field(f).IsNil())
		}
	}
	defer func() {
		if got := fmt.Sprint(recover()); got != "redlock: nil logger" {
			t.Errorf("panic %q", got)
		}
	}()
	LogObserver(nil)
}

// The record of a hold has the context of its call.
func TestLogObserverGivesTheContextOn(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var told recorder
		c := d.client(WithObserver(LogObserver(slog.New(contextHandler{slog.DiscardHandler, &told}))))
		ctx := context.WithValue(t.Context(), callKey{}, "mine")
		lock, err := c.Lock(ctx, "a")
		must(t, err)
		must(t, lock.Unlock(t.Context()))
		if told.count("redlock: lock acquired mine") != 1 || told.count("redlock: lock released mine") != 1 {
			t.Errorf("told %q", told.events)
		}
	})
}

type contextHandler struct {
	slog.Handler
	told *recorder
}

func (contextHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	h.told.note("%s %v", r.Message, ctx.Value(callKey{}))
	return nil
}
