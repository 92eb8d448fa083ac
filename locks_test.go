package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

var three = []string{"c", "a", "b"}

// mustAll returns the lock of all the names.
func mustAll(t *testing.T, c *Client, names []string, opts ...LockOption) *Locks {
	t.Helper()
	locks, err := c.TryLockAll(background, names, opts...)
	must(t, err)
	return locks
}

// requireHolders waits until the names are locked as given, master by master.
func requireHolders(t *testing.T, d *deployment, want string, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, name+" is held on "+want, func() bool { return d.holders(name) == want })
	}
}

func allOrNone(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	locks := mustAll(t, a, three)
	if got := locks.Names(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("names %q", got)
	}
	for _, name := range three {
		if !locks.Token(name).Valid() || locks.Tokens()[name] != locks.Token(name) {
			t.Errorf("token of %s: %v of %v", name, locks.Token(name), locks.Tokens())
		}
		verdict, err := b.Verify(background, name, locks.Token(name))
		if must(t, err); verdict != VerifyValid {
			t.Errorf("%s is %v", name, verdict)
		}
	}
	if locks.Token("d") != 0 || !locks.Valid() || time.Until(locks.Until()) <= 0 {
		t.Errorf("%v, valid %v, until %v", locks, locks.Valid(), locks.Until())
	}
	if _, is := fence.FromContext(locks.Context()); is {
		t.Error("the context carries the token of one of the names")
	}
	_, err := b.TryLockAll(background, []string{"0", "b", "d"})
	requireErr(t, err, ErrNotAcquired, ErrHeld)
	if q, _ := errors.AsType[*QuorumError](err); q.Name != "b" || q.FreeIn <= 0 {
		t.Errorf("it does not tell which name was held: %v", err)
	}
	free := strings.Repeat("0", len(d.masters))
	requireHolders(t, d, free, "0", "d")
	must(t, locks.Unlock(background))
	if cause := context.Cause(locks.Context()); cause != ErrReleased || locks.Valid() {
		t.Errorf("after Unlock: %v, valid %v", cause, locks.Valid())
	}
	requireErr(t, locks.Unlock(background), ErrReleased)
	requireHolders(t, d, free, three...)

	again := mustAll(t, b, []string{"a", "b", "d"})
	for _, name := range []string{"a", "b"} {
		if again.Token(name) <= locks.Token(name) {
			t.Errorf("the token of %s went from %v to %v", name, locks.Token(name), again.Token(name))
		}
	}
	must(t, again.Unlock(background))
}

// All of one attempt are granted on a master, or none: nothing is there to give back.
func noneOnAnyMaster(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	held := mustTry(t, a, "b")
	settled(t, a)
	before := make([]string, len(d.raw))
	counter := func(i int) string {
		return d.raw[i].Get(background, script.KeysOf(limits.DefaultPrefix, "a", "").Fence).Val()
	}
	for i := range d.raw {
		before[i] = counter(i)
	}
	_, err := b.TryLockAll(background, three)
	requireErr(t, err, ErrHeld)
	settled(t, b)
	for i := range d.raw {
		if counter(i) != before[i] {
			t.Errorf("master %d granted a", i)
		}
	}
	must(t, held.Unlock(background))
}

func setRenews(t *testing.T, d *deployment) {
	c := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request()))
	locks := mustAll(t, c, three)
	time.Sleep(3 * d.ttl())
	for _, name := range three {
		if got := d.holders(name); !strings.Contains(got, "1") {
			t.Errorf("%s is held on %s", name, got)
		}
	}
	if !locks.Valid() {
		t.Errorf("it is over: %v", context.Cause(locks.Context()))
	}
	must(t, locks.Unlock(background))
}

// A name that could not be renewed is tried again soon, with the others, also when its own renewal is due
// later than theirs. Each of these renewals is made once.
func TestANameOfASetThatCouldNotBeRenewed(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const ttl = 12 * time.Second
		var mu sync.Mutex
		var began time.Time
		var renewed []string
		c := d.reached(WithTTL(ttl), WithObserver(Observer{Renewed: func(_ context.Context, r Renewal) {
			mu.Lock()
			defer mu.Unlock()
			renewed = append(renewed, fmt.Sprint(r.Name, " after ", time.Since(began)))
		}}))
		rival := d.reached()
		held := mustTry(t, rival, "b")
		names, cfg := []string{"a", "b"}, c.config.lock
		cfg.telling = c.tellStart(background, names, true, &cfg, true)
		s := c.newLocks(background, names, cfg, waitqueue.Ticket{})
		began = time.Now()
		done := make(chan error, 1)
		go func() {
			done <- c.takeInOrder(s, s.names, &waitLimit{client: c, wait: forever, since: c.now()})
		}()
		time.Sleep(2 * time.Second)
		must(t, held.Unlock(background))
		must(t, <-done)
		locks, err := s.finish(cfg)
		must(t, err)
		settled(t, c)
		for i := range 2 { // as if two clocks had jumped: these votes do not count in the first renewal
			must(t, d.raw[i].PExpire(background, script.KeysOf(limits.DefaultPrefix, "b", "").Lock, time.Minute).Err())
		}
		time.Sleep(time.Until(began.Add(ttl)))
		mu.Lock()
		slices.Sort(renewed)
		got := strings.Join(renewed, ", ")
		mu.Unlock()
		if want := "a after 4s, a after 5s, a after 9s, b after 5s, b after 9s"; got != want {
			t.Errorf("renewed: %s; want %s", got, want)
		}
		must(t, locks.Unlock(background))
	})
}

// The timers of the names of a set fire at the same time. All are renewed at the first, and nothing at the others; what could not
// be renewed is tried again a twelfth of the ttl later, and then this counts for that renewal.
func TestTheNamesOfASetAreRenewedTogether(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const ttl = 24 * time.Second
		var renewed recorder
		c := d.reached(WithTTL(ttl), WithObserver(Observer{Renewed: func(_ context.Context, r Renewal) { renewed.note("%s", r.Name) }}))
		locks := mustAll(t, c, three)
		settled(t, c)
		began := c.now().Add(ttl / 10)
		for _, x := range []struct {
			after time.Duration
			want  int // of each name, so far
		}{
			{0, 1}, {0, 1}, {1, 1}, {ttl/24 - 1, 1}, {ttl / 24, 2}, {ttl / 24, 2}, {ttl/12 - 1, 2}, {ttl / 12, 3},
		} {
			set{locks}.Renew(began.Add(x.after), ttl/(2*lease.RenewRetries))
			settled(t, c)
			synctest.Wait()
			for _, name := range three {
				if got := renewed.count(name); got != x.want {
					t.Errorf("%v after the first: %s was renewed %d times, want %d", x.after, name, got, x.want)
				}
			}
		}
		must(t, locks.Unlock(background))
	})
}

func setExtends(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	locks := mustAll(t, c, three, WithTTL(d.ttl()), WithoutWatchdog())
	requireOptionError(t, locks.Extend(background, 0), "ttl")
	must(t, locks.Extend(background, 10*d.ttl()))
	time.Sleep(2 * d.ttl())
	if !locks.Valid() {
		t.Errorf("it is over: %v", context.Cause(locks.Context()))
	}
	must(t, locks.Unlock(background))
	requireErr(t, locks.Extend(background, d.ttl()), ErrReleased)

	fixed := mustAll(t, c, three, WithTTL(d.ttl()), WithoutWatchdog())
	within(t, "its end", fixed.Context().Done())
	requireErr(t, fixed.Extend(background, d.ttl()), ErrExpired)
	requireErr(t, fixed.Unlock(background), ErrExpired)
}

func lossOfOneIsLossOfAll(t *testing.T, d *deployment) {
	c := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request()))
	locks := mustAll(t, c, three)
	d.drop(c, "b", 0, 1, 2)
	within(t, "the loss", locks.Context().Done())
	if cause := context.Cause(locks.Context()); !errors.Is(cause, ErrLost) || locks.Valid() {
		t.Errorf("%v, valid %v", cause, locks.Valid())
	}
	lost := time.Now()
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), "a", "c") // before Unlock
	if took := time.Since(lost); took > d.ttl()/4 {
		t.Errorf("the others are free after %v only: the ttl did it", took)
	}
	requireErr(t, locks.Unlock(background), ErrLost)
}

func setRepairs(t *testing.T, d *deployment) {
	c := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request()))
	locks := mustAll(t, c, three)
	d.drop(c, "b", 0)
	eventually(t, "it is written back", func() bool { return d.holders("b") == strings.Repeat("1", len(d.masters)) })
	must(t, locks.Unlock(background))
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), three...)
}

// The bound counts from when all names are held, however long the first was before.
func setMaxHold(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	held := mustTry(t, b, "c")
	bound := d.either(100*time.Millisecond, time.Second)
	cfg := a.config.lock
	cfg.maxHold = bound
	s := a.newLocks(background, []string{"a", "b", "c"}, cfg, waitqueue.Ticket{})
	done := make(chan error, 1)
	go func() {
		done <- a.takeInOrder(s, s.names, &waitLimit{client: a, wait: forever, since: a.now()})
	}()
	d.inLine("c", 1)
	time.Sleep(2 * bound)
	must(t, held.Unlock(background))
	must(t, <-done)
	locks, err := s.finish(cfg)
	must(t, err)
	if !locks.Valid() {
		t.Errorf("the wait counted: %v", context.Cause(locks.Context()))
	}
	within(t, "the bound", locks.Context().Done())
	requireErr(t, context.Cause(locks.Context()), ErrExpired)
	requireErr(t, locks.Unlock(background), ErrExpired)
}

func setReEntry(t *testing.T, d *deployment) {
	c := d.reached()
	locks := mustAll(t, c, three)
	inner, err := c.Lock(locks.Context(), "b")
	must(t, err)
	if inner.Token() != locks.Token("b") {
		t.Errorf("re-entered with %v, not %v", inner.Token(), locks.Token("b"))
	}
	_, err = c.LockAll(locks.Context(), []string{"z", "b"})
	requireOptionError(t, err, "names")
	single := mustTry(t, c, "single")
	_, err = c.LockAll(single.Context(), []string{"z", "single"})
	requireOptionError(t, err, "names")
	must(t, single.Unlock(background))

	var others []*Lock
	for _, name := range []string{"a", "c"} {
		other, err := c.Lock(locks.Context(), name)
		must(t, err)
		others = append(others, other)
	}
	must(t, locks.Unlock(background))
	if locks.Valid() {
		t.Error("it is unlocked, and valid because its names were re-entered")
	}
	unlockAll(t, others...)
	if inner.Context().Err() != nil || !inner.Valid() {
		t.Errorf("the inner handle is over: %v", context.Cause(inner.Context()))
	}
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), "a", "c")
	if got := d.holders("b"); !strings.Contains(got, "1") {
		t.Errorf("b is held on %s", got)
	}
	must(t, inner.Unlock(background))
	if cause := context.Cause(locks.Context()); cause != ErrReleased {
		t.Errorf("%v", cause)
	}
}

// A set that takes its names in order holds those that it has while it waits for the next,
// and renews them; and it gives them back when it gives up.
func setWaitsInOrder(t *testing.T, d *deployment) {
	a, b := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request())), d.reached()
	held := mustTry(t, b, "b")
	ctx, cancel := context.WithCancel(background)
	s := a.newLocks(ctx, []string{"a", "b", "c"}, a.config.lock, waitqueue.Ticket{})
	done := make(chan error, 1)
	go func() {
		done <- a.takeInOrder(s, s.names, &waitLimit{client: a, wait: forever, since: a.now()})
		s.abandon()
	}()
	d.inLine("b", 1)
	time.Sleep(2 * d.ttl())
	if got := d.holders("a"); !strings.Contains(got, "1") {
		t.Errorf("a is held on %s while b is awaited", got)
	}
	if got := d.holders("c"); strings.Contains(got, "1") {
		t.Errorf("c is held on %s while b is awaited", got)
	}
	cancel()
	requireErr(t, <-done, context.Canceled)
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), "a", "c")
	d.inLine("b", 0)
	must(t, held.Unlock(background))
}

// A set keeps the ticket of its first wait for all its names and attempts, so that nobody who came later is before it
// in any line.
func TestASetHasOneTicket(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, rival := d.reached(), d.reached()
		held := map[string]*Lock{"b": mustTry(t, rival, "b"), "c": mustTry(t, rival, "c")}
		done := make(chan error, 1)
		go func() {
			locks, err := c.LockAll(background, three)
			done <- err
			<-done
			check(t, locks.Unlock(background))
			close(done)
		}()
		var first float64
		for i, wait := range []struct{ line, next string }{
			{"b", ""},  // the first of those that were held
			{"c", "a"}, // it had b, and c was not free
			{"a", "b"}, // it had c, and a was not free: from here on it takes them in order
			{"b", ""},  // it has a, and holds that
		} {
			d.inLine(wait.line, 1)
			time.Sleep(time.Second) // a ticket of later is another one
			settled(t, c)
			ticket := d.ticketOf(c, wait.line)
			if i == 0 {
				first = ticket
			} else if ticket != first {
				t.Errorf("wait %d, for %s: the ticket is %.0f; it was %.0f", i, wait.line, ticket, first)
			}
			if wait.next != "" {
				held[wait.next] = mustTry(t, rival, wait.next)
			}
			must(t, held[wait.line].Unlock(background))
		}
		must(t, <-done)
		done <- nil
		<-done
	})
}

// A set that loses one name while it waits for another begins anew.
func setLosesAPart(t *testing.T, d *deployment) {
	a, b := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request())), d.reached()
	held := mustTry(t, b, "b")
	s := a.newLocks(background, []string{"a", "b", "c"}, a.config.lock, waitqueue.Ticket{})
	done := make(chan error, 1)
	go func() {
		done <- a.takeInOrder(s, s.names, &waitLimit{client: a, wait: forever, since: a.now()})
	}()
	d.inLine("b", 1)
	eventually(t, "all masters have a", func() bool { return d.holders("a") == strings.Repeat("1", len(d.masters)) })
	for _, r := range d.raw {
		must(t, r.Del(background, script.KeysOf(limits.DefaultPrefix, "a", "").Lock).Err())
	}
	requireErr(t, <-done, ErrLost)
	s.abandon()
	must(t, held.Unlock(background))
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), three...)
}

func setGivesUp(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	held := mustTry(t, b, "b")
	_, err := a.LockAll(background, three, WithWait(d.either(300*time.Millisecond, 600*time.Millisecond)))
	requireErr(t, err, ErrNotAcquired, ErrHeld, context.DeadlineExceeded)
	_, err = a.LockAll(background, three, WithWait(0))
	requireErr(t, err, ErrNotAcquired, ErrHeld)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it did not wait, and says so: %v", err)
	}
	d.inLine("b", 0)
	must(t, held.Unlock(background))
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), three...)
	worked := false
	must(t, a.DoAll(background, three, func(ctx context.Context, tokens map[string]fence.Token) error {
		worked = true
		if len(tokens) != 3 {
			t.Errorf("tokens %v", tokens)
		}
		return ctx.Err()
	}))
	if !worked {
		t.Error("the work was not done")
	}
}

func closeReleasesSets(t *testing.T, d *deployment) {
	c := d.reached()
	locks := mustAll(t, c, three)
	must(t, c.Close())
	if cause := context.Cause(locks.Context()); cause != ErrClosed {
		t.Errorf("%v", cause)
	}
	requireHolders(t, d, strings.Repeat("0", len(d.masters)), three...)
}

func TestLockAllRefuses(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		c := d.client()
		for field, names := range map[string][]string{
			"number of names": nil,
			"names[2]":        {"a", "b", "a"},
			"names[1]":        {"a", ""},
			"names[0]":        {"jobs~slot3", "a"},
		} {
			_, err := c.LockAll(background, names)
			requireOptionError(t, err, field)
		}
		most := make([]string, limits.MaxNames)
		for i := range most {
			most[i] = fmt.Sprint("name ", i)
		}
		must(t, mustAll(t, c, most).Unlock(background))
		_, err := c.LockAll(background, make([]string, limits.MaxNames+1))
		requireOptionError(t, err, "number of names")
		_, err = c.TryLockAll(background, three, WithSlots(2))
		requireOptionError(t, err, "slots")
		var none *Locks
		requireErr(t, errors.Join(none.Unlock(background), none.Extend(background, limits.DefaultTTL)), ErrNotAcquired)
		if none.Names() != nil || none.Token("a") != 0 || none.Tokens() != nil || none.Context() != nil || none.Valid() || !none.Until().IsZero() || none.String() != "no locks" {
			t.Error("a nil *Locks has something")
		}
	})
}

// An observer that takes its time holds up nobody who has to be told.
func TestASetIsToldBeforeItsObserver(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		goOn := make(chan struct{})
		c := d.reached(WithTTL(time.Second), WithObserver(Observer{Ended: func(_ context.Context, e HoldEnd) {
			if e.Cause == ErrExpired {
				<-goOn
			}
		}}))
		set, err := c.LockAll(background, []string{"a", "b"}, WithoutWatchdog())
		must(t, err)
		within(t, "told", set.Context().Done())
		close(goOn)
		requireErr(t, context.Cause(set.Context()), ErrExpired)
		requireErr(t, set.Unlock(background), ErrExpired)
	})
}

// Leases that end together are over in goroutines of their own. The last of them may come to
// end the context before the first, and says why the first one did.
func TestASetThatExpiresAtOnceSaysSo(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		s := &Locks{client: d.client(), live: 2, complete: true}
		var causes []error
		s.cancel = func(cause error) {
			if len(causes) == 0 {
				causes = append(causes, nil) // the first, which is not through
				set{s}.Ended(ErrExpired)
				causes[0] = cause
				return
			}
			causes = append(causes, cause)
		}
		set{s}.Ended(ErrExpired)
		if want := []error{ErrExpired, ErrExpired}; !slices.Equal(causes, want) {
			t.Errorf("the context ended with %v, want %v", causes, want)
		}
	})
}

// What a set tells when its leases ran out, and no timer has fired yet; and when the masters cannot be told that it is over.
func TestASetWhoseMastersAreAway(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithTTL(10 * time.Second))
		locks := mustAll(t, c, three)
		if !locks.Valid() {
			t.Error("it is not valid")
		}
		d.slept.Add(int64(10 * time.Second)) // the machine was suspended
		if locks.Valid() {
			t.Error("its leases ran out, and it is valid")
		}
		requireErr(t, locks.Unlock(background), ErrExpired)
		settled(t, c)

		locks = mustAll(t, c, three)
		settled(t, c)
		for _, m := range d.masters[:2] {
			m.freeze()
		}
		requireErr(t, locks.Unlock(background), ErrNoQuorum)
		for _, m := range d.masters[:2] {
			m.thaw()
		}
	})
}

// A set has its names when a quorum of masters stands at the token of each. If it does not for one, whichever that is, the
// attempt fails and tells which.
func TestASetNeedsEachToken(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for _, x := range []struct {
		lost string // on two of three masters, before they are to confirm
		want string // the name that is told; "": it is had
	}{
		{"", ""}, {"a", "a"}, {"b", "b"}, {"c", "c"}, {"ab", "a"}, {"bc", "b"}, {"abc", "a"},
	} {
		t.Run("lost "+x.lost, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached()
				for i, name := range names { // all differ, so that each name has two masters that confirm
					for m := range d.raw {
						must(t, d.raw[m].IncrBy(background, script.KeysOf(limits.DefaultPrefix, name, "").Fence, int64(100*(m+i))).Err())
					}
				}
				s := c.newLocks(background, names, c.config.lock, waitqueue.Ticket{})
				deadline := c.now().Add(c.requestTimeout)
				attempts := c.askForAll(s, c.members.View(), names, deadline)
				settled(t, c)
				votes := make([][]script.Vote, len(attempts))
				for i, a := range attempts {
					votes[i] = a.asked.Tally()
				}
				for _, name := range strings.Split(x.lost, "") {
					for _, r := range d.raw[:2] {
						must(t, r.Del(background, script.KeysOf(limits.DefaultPrefix, name, "").Lock).Err())
					}
				}
				err := c.makeTokens(background, attempts, votes)
				q, _ := errors.AsType[*QuorumError](err)
				switch {
				case x.want == "":
					must(t, err)
				case q == nil || q.Reason != ErrNoQuorum || q.Name != x.want:
					t.Errorf("%v, want that %s has no quorum", err, x.want)
				}
				for _, a := range attempts {
					a.giveUp(nowhere)
				}
				settled(t, c)
			})
		})
	}
}

// The answers to all names of an attempt come together, and one after the other. What is told of a name is told when all that came
// together is there, or the time is over.
func TestAnAttemptAtAllNamesIsToldWhole(t *testing.T) {
	t.Parallel()
	const least = 500 * time.Millisecond
	for claim, x := range map[string]struct {
		comes  bool // the last answer for the second name
		answer script.Answer
		within time.Duration
	}{
		"the last answer comes":         {true, script.Held, 0},
		"the last answer does not come": {false, script.Unknown, least},
	} {
		inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
			c := d.reached()
			v := c.members.View()
			var attempts []*attempt
			for _, name := range []string{"a", "b"} {
				attempts = append(attempts, c.prepare(v, name, c.config.lock, nowhere))
			}
			withheld := script.Vote{Heard: true, Answer: script.Held, Err: script.ErrWithheld}
			held := script.Vote{Heard: true, Answer: script.Held}
			begin := time.Now()
			go func() {
				for i := range 3 {
					attempts[0].asked.Answer(i, withheld)
					if i == 2 {
						synctest.Wait() // who waits for the first name has its verdict
					}
					if i < 2 || x.comes {
						attempts[1].asked.Answer(i, held)
					}
				}
			}()
			votes, failed, err := c.awaitAll(background, attempts, c.now().Add(least))
			must(t, err)
			if failed != 0 || votes[1][2].Answer != x.answer {
				t.Errorf("%s: %d failed, and the third answer for the second name is %v, want %v", claim, failed, votes[1][2].Answer, x.answer)
			}
			if took := time.Since(begin); took != x.within {
				t.Errorf("%s: it took %v, want %v", claim, took, x.within)
			}
		})
	}
}
