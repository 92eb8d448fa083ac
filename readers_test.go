package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Cases of the behaviour suite for readers and writers.

func mustTryRead(t *testing.T, c *Client, name string, opts ...LockOption) *Lock {
	t.Helper()
	lock, err := c.TryRLock(background, name, opts...)
	must(t, err)
	return lock
}

func goRLock(t *testing.T, c *Client, name string, opts ...LockOption) <-chan *Lock {
	got := make(chan *Lock, 1)
	go func() {
		lock, err := c.RLock(background, name, opts...)
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		got <- lock
	}()
	return got
}

func unlockAll(t *testing.T, locks ...*Lock) {
	t.Helper()
	for _, l := range locks {
		must(t, l.Unlock(background))
	}
}

// readersOn is how many readers each master has, or -1 if there are none but the key is of a
// writer.
func (d *deployment) readersOn(name string) (counts []int64) {
	for _, r := range d.raw {
		n, err := r.ZCard(background, script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
		if err != nil {
			n = -1
		}
		counts = append(counts, n)
	}
	return counts
}

// readBy waits until every master has so many readers.
func (d *deployment) readBy(name string, n int64) {
	d.t.Helper()
	eventually(d.t, fmt.Sprintf("%d readers on every master", n), func() bool {
		for _, is := range d.readersOn(name) {
			if is != n {
				return false
			}
		}
		return true
	})
}

// endOn returns when the reader of a lock ends on a master, by the master's time.
func endOn(t *testing.T, r *redis.Client, l *Lock) time.Time {
	t.Helper()
	score, err := r.ZScore(background, l.h.Keys.Lock, l.h.ID).Result()
	must(t, err)
	return time.UnixMilli(int64(score))
}

func manyReadersOrOneWriter(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	one, two, three := mustTryRead(t, a, "job"), mustTryRead(t, b, "job"), mustTryRead(t, b, "job")
	for _, c := range []*Client{a, b} {
		_, err := c.TryLock(background, "job")
		requireErr(t, err, ErrNotAcquired, ErrHeld)
		if q, ok := errors.AsType[*QuorumError](err); !ok || q.FreeIn <= limits.DefaultTTL/2 || q.FreeIn > limits.DefaultTTL {
			t.Errorf("%v; want free in %v", err, limits.DefaultTTL)
		}
	}
	unlockAll(t, one, three)
	_, err := a.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	must(t, two.Unlock(background))
	settled(t, a) // each Unlock waits for a quorum, and no quorum is free of all three
	settled(t, b)
	writer := mustTry(t, a, "job")
	for _, c := range []*Client{a, b} {
		_, err := c.TryRLock(background, "job")
		requireErr(t, err, ErrNotAcquired, ErrHeld)
	}
	if !two.h.Reads.Load() || writer.h.Reads.Load() {
		t.Error("modes")
	}
	must(t, writer.Unlock(background))
	settled(t, a)
	unlockAll(t, mustTryRead(t, b, "job"))
	requireErr(t, one.Unlock(background), ErrReleased)
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
}

// A reader that is gone keeps writers out for its ttl at most, and an other's renewals and
// Unlock touch only that one's time.
func readersExpireAlone(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	start := time.Now()
	dead := mustTryRead(t, a, "job", WithTTL(d.ttl()), WithoutWatchdog())
	alive := mustTryRead(t, b, "job", WithTTL(d.ttl()))
	brief := mustTryRead(t, b, "job", WithTTL(2*d.ttl()))
	settled(t, a)
	ended := endOn(t, d.raw[0], dead)
	time.Sleep(d.ttl() / 2) // alive has renewed
	must(t, brief.Unlock(background))
	if at := endOn(t, d.raw[0], dead); !at.Equal(ended) {
		t.Errorf("the time of a reader went from %v to %v when others renewed and left", ended, at)
	}
	if at := endOn(t, d.raw[0], alive); !at.After(ended) {
		t.Errorf("the reader that renews ends at %v, that which does not at %v", at, ended)
	}
	<-dead.Context().Done()
	if cause := context.Cause(dead.Context()); cause != ErrExpired || !alive.Valid() {
		t.Errorf("cause %v; the other is valid: %v", cause, alive.Valid())
	}
	time.Sleep(time.Until(start.Add(d.ttl() + d.ttl()/4)))
	must(t, alive.Unlock(background))
	took := time.Now()
	writer, err := a.Lock(background, "job")
	must(t, err)
	if late := time.Since(took); late > d.ttl()/4 {
		t.Errorf("the dead reader kept a writer out for %v after its ttl", late)
	}
	requireErr(t, dead.Unlock(background), ErrExpired)
	if !writer.Valid() || strings.Count(d.holders("job"), "1") < 2 {
		t.Error("the late Unlock of a reader freed the writer's lock")
	}
	must(t, writer.Unlock(background))
}

// A writer waits for a reader that died after it asked, however long the others' leases are.
func deadReaderIsWaitedForNoLonger(t *testing.T, d *deployment) {
	a, b, w := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	start := time.Now()
	mustTryRead(t, a, "job", WithTTL(2*d.ttl()), WithoutWatchdog()) // dies
	alive := mustTryRead(t, b, "job", WithTTL(20*time.Second))
	got := goLock(t, w, "job")
	d.inLine("job", 1)
	must(t, alive.Unlock(background))
	writer := have(t, got)
	if took, most := time.Since(start), 2*d.ttl()+askInterval+standByPause+d.request(); took < 2*d.ttl()-time.Millisecond || took > most {
		t.Errorf("the writer got in after %v; want after %v, and before %v", took, 2*d.ttl(), most)
	}
	must(t, writer.Unlock(background))
}

func writersAreNotStarved(t *testing.T, d *deployment) {
	a, b, w := d.reached(), d.reached(), d.reached()
	first := mustTryRead(t, a, "job")
	waiting := goLock(t, w, "job")
	d.inLine("job", 1)
	d.ticketOf(w, "job")
	_, err := b.TryRLock(background, "job")
	requireErr(t, err, ErrNotAcquired, ErrHeld)
	again, err := a.TryRLock(first.Context(), "job")
	must(t, err)
	late := []<-chan *Lock{goRLock(t, a, "job"), goRLock(t, b, "job")}
	d.inLine("job", 3)
	for _, c := range []*Client{a, b} {
		d.ticketOf(c, "job")
	}
	unlockAll(t, first, again)
	writer := have(t, waiting)
	start := time.Now()
	select {
	case <-late[0]:
		t.Error("a reader got in beside the writer")
	case <-late[1]:
		t.Error("a reader got in beside the writer")
	case <-time.After(50 * time.Millisecond):
	}
	must(t, writer.Unlock(background))
	unlockAll(t, have(t, late[0]), have(t, late[1])) // both at once: neither waits for the other's Unlock
	if took := time.Since(start); took > d.either(100*time.Millisecond, askInterval) {
		t.Errorf("the readers got in after %v: nobody called them", took)
	}
}

// A release calls all readers up to the first writer, and not those behind it.
func readersAreCalledUpToTheFirstWriter(t *testing.T, d *deployment) {
	holder := d.reached()
	clients := []*Client{d.reached(), d.reached(), d.reached(), d.reached()}
	held := mustTry(t, holder, "job")
	var got []<-chan *Lock
	for i, c := range clients {
		if i == 2 {
			got = append(got, goLock(t, c, "job"))
		} else {
			got = append(got, goRLock(t, c, "job"))
		}
		d.inLine("job", int64(i+1))
		d.ticketOf(c, "job")
	}
	must(t, held.Unlock(background))
	start := time.Now()
	one, two := have(t, got[0]), have(t, got[1])
	if took := time.Since(start); took > d.either(100*time.Millisecond, askInterval) {
		t.Errorf("the readers got in after %v: nobody called them", took)
	}
	select {
	case <-got[2]:
		t.Error("the writer got in beside readers")
	case <-got[3]:
		t.Error("the reader behind the writer got in before it")
	case <-time.After(d.either(time.Second, 300*time.Millisecond)):
	}
	unlockAll(t, one, two)
	must(t, have(t, got[2]).Unlock(background))
	must(t, have(t, got[3]).Unlock(background))
	d.inLine("job", 0)
}

// Readers that wait in one client go together, up to the first writer of that.
func readersOfOneClientGoTogether(t *testing.T, d *deployment) {
	holder, c := d.reached(), d.reached()
	held := mustTry(t, holder, "job")
	var readers []<-chan *Lock
	for i := range 5 {
		readers = append(readers, goRLock(t, c, "job"))
		eventually(t, "it waits", func() bool { return c.queues.Waiting("job") == i+1 })
	}
	writer := goLock(t, c, "job")
	eventually(t, "it waits", func() bool { return c.queues.Waiting("job") == 6 })
	last := goRLock(t, c, "job")
	must(t, held.Unlock(background))
	var all []*Lock
	for _, r := range readers {
		all = append(all, have(t, r))
	}
	select {
	case <-writer:
		t.Error("a writer got in beside readers")
	case <-last:
		t.Error("a reader overtook a writer of its own client")
	case <-time.After(50 * time.Millisecond):
	}
	unlockAll(t, all...)
	must(t, have(t, writer).Unlock(background))
	must(t, have(t, last).Unlock(background))
}

// A writer that gives up lets the readers in that stood behind it. One that died does so too.
func readersAreCalledWhenAWriterGivesUp(t *testing.T, d *deployment) {
	a, b, w := d.reached(), d.reached(), d.reached()
	first := mustTryRead(t, a, "job")
	ctx, cancel := context.WithCancel(background)
	gaveUp := make(chan error)
	go func() {
		_, err := w.Lock(ctx, "job")
		gaveUp <- err
	}()
	d.inLine("job", 1)
	d.ticketOf(w, "job")
	late := goRLock(t, b, "job")
	d.inLine("job", 2)
	d.ticketOf(b, "job")
	cancel()
	requireErr(t, <-gaveUp, ErrNotAcquired)
	start := time.Now()
	second := have(t, late)
	if took := time.Since(start); took > d.either(100*time.Millisecond, askInterval) {
		t.Errorf("the reader got in after %v: nobody called it", took)
	}

	for _, r := range d.raw {
		must(t, r.ZAdd(background, script.KeysOf(limits.DefaultPrefix, "job", "").Queue, redis.Z{Score: 1, Member: "the channel of a dead writer"}).Err())
	}
	third := mustTryRead(t, w, "job")
	unlockAll(t, first, second, third)
}

func downgrade(t *testing.T, d *deployment) {
	a, b, rival := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, a, "job", WithTTL(d.ttl()))
	token := lock.Token()
	reader := goRLock(t, b, "job")
	d.inLine("job", 1)
	d.ticketOf(b, "job")
	writer := goLock(t, rival, "job")
	d.inLine("job", 2)
	d.ticketOf(rival, "job")

	must(t, lock.Downgrade(background))
	one := have(t, reader) // it was called
	if lock.Token().Valid() || lock.LastToken() != token || one.LastToken() < token {
		t.Errorf("token %v, last %v, the other's last %v; the writer's token was %v", lock.Token(), lock.LastToken(), one.LastToken(), token)
	}
	if token, ok := fence.FromContext(lock.Context()); ok {
		t.Errorf("the context of a reader carries the token %v", token)
	}
	select {
	case <-writer:
		t.Error("another writes beside two readers")
	case <-time.After(2 * d.ttl()): // both are renewed
	}
	if !lock.Valid() || !one.Valid() {
		t.Errorf("the readers are valid: %v, %v", lock.Valid(), one.Valid())
	}
	must(t, lock.Downgrade(background)) // again does nothing
	must(t, lock.Unlock(background))
	must(t, one.Unlock(background))
	next := have(t, writer)
	if next.Token() <= token {
		t.Errorf("token %v after %v", next.Token(), token)
	}
	must(t, next.Unlock(background))
	requireErr(t, next.Downgrade(background), ErrReleased)
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
}

// A writer that is first in line gets in when the reader leaves, and at no moment before.
func downgradeKeepsWritersOut(t *testing.T, d *deployment) {
	a, rival := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, a, "job", WithTTL(d.ttl()))
	alone := mustTry(t, a, "another job", WithTTL(d.ttl()))
	writer := goLock(t, rival, "job")
	d.inLine("job", 1)
	d.ticketOf(rival, "job")
	for _, l := range []*Lock{lock, alone} {
		must(t, l.Downgrade(background))
		if _, err := rival.TryLock(background, l.Name()); !errors.Is(err, ErrHeld) {
			t.Errorf("after the downgrade a rival got %v", err)
		}
	}
	select {
	case <-writer:
		t.Error("another writes beside a reader")
	case <-time.After(2 * d.ttl()):
	}
	unlockAll(t, lock, alone)
	must(t, have(t, writer).Unlock(background))
}

// The client's own readers that wait get in with the downgrade, and a writer of its own when all have left.
func downgradeLetsOwnReadersIn(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, c, "job")
	readers := []<-chan *Lock{goRLock(t, c, "job"), goRLock(t, c, "job")}
	eventually(t, "they wait", func() bool { return c.queues.Waiting("job") == 2 })
	writer := goLock(t, c, "job")
	eventually(t, "all wait", func() bool { return c.queues.Waiting("job") == 3 })
	must(t, lock.Downgrade(background))
	all := []*Lock{lock}
	for _, got := range readers {
		select {
		case one := <-got:
			all = append(all, one)
		case <-writer:
			t.Fatal("a writer got in beside a reader")
		case <-time.After(d.either(time.Second, patience)):
			t.Fatal("a reader of the client was not let in")
		}
	}
	unlockAll(t, all...)
	select {
	case next := <-writer:
		must(t, next.Unlock(background))
	case <-time.After(patience):
		t.Fatal("the writer was not let in")
	}
}

// Some masters have not heard of the downgrade, and are told by the next renewal. No mix lets a
// writer in.
func downgradeInAMix(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, a, "job", WithTTL(4*d.ttl()))
	settled(t, a)
	for _, i := range []int{0, 1, 2} {
		d.masters[i].die()
	}
	requireErr(t, lock.Downgrade(background), ErrNoQuorum)
	if !lock.Valid() || lock.Token().Valid() {
		t.Errorf("valid %v, token %v", lock.Valid(), lock.Token())
	}
	for _, i := range []int{0, 1, 2} {
		d.masters[i].revive()
	}
	// The Downgrade failed when three masters had; the others may get it later.
	eventually(t, "a mix", func() bool { return fmt.Sprint(d.readersOn("job")) == "[-1 -1 -1 1 1]" })
	_, err := b.TryLock(background, "job")
	requireErr(t, err, ErrNotAcquired)
	other, err := b.RLock(background, "job", WithWait(patience))
	must(t, err)
	d.readBy("job", 2)
	unlockAll(t, lock, other)
}

func upgradeIsRefused(t *testing.T, d *deployment) {
	c := d.reached()
	reader := mustTryRead(t, c, "job")
	start := time.Now()
	for _, lock := range []func(*Client, context.Context, string, ...LockOption) (*Lock, error){(*Client).TryLock, (*Client).Lock} {
		_, err := lock(c, reader.Context(), "job", WithWait(patience))
		requireErr(t, err, ErrNotAcquired, ErrUpgrade)
	}
	requireErr(t, c.Do(reader.Context(), "job", func(context.Context, fence.Token) error { return nil }), ErrUpgrade)
	if took := time.Since(start); took > d.either(0, askInterval) {
		t.Errorf("it took %v", took)
	}
	if !reader.Valid() {
		t.Error("the reader's hold ended")
	}
	downgraded := mustTry(t, c, "other")
	must(t, downgraded.Downgrade(background))
	_, err := c.TryLock(downgraded.Context(), "other")
	requireErr(t, err, ErrUpgrade)
	unlockAll(t, reader, downgraded)
	unlockAll(t, mustTry(t, c, "job"))
}

// Write in write, read in write, read in read; each while a writer waits, behind whom a new
// reader would have to stand.
func reEntryOfReadersAndWriters(t *testing.T, d *deployment) {
	a, rival := d.reached(), d.reached()
	for _, readFirst := range []bool{false, true} {
		outer := mustTry(t, a, "job")
		if readFirst {
			must(t, outer.Unlock(background))
			outer = mustTryRead(t, a, "job")
		}
		waiting := goLock(t, rival, "job")
		d.inLine("job", 1)
		inner, err := a.RLock(outer.Context(), "job", WithWait(d.request()))
		must(t, err)
		var deeper *Lock
		if readFirst {
			deeper, err = a.TryRLock(inner.Context(), "job")
		} else {
			deeper, err = a.TryLock(inner.Context(), "job") // its hold writes
			requireErr(t, outer.Downgrade(background), ErrWriters)
			requireErr(t, inner.Downgrade(background), ErrWriters)
		}
		must(t, err)
		if inner.Token() != outer.Token() || deeper.Token() != outer.Token() || outer.Token().Valid() == readFirst {
			t.Errorf("tokens %v, %v, %v of one hold", outer.Token(), inner.Token(), deeper.Token())
		}
		unlockAll(t, outer, deeper)
		select {
		case <-waiting:
			t.Error("a reader is left in the hold, and another writes")
		case <-time.After(d.either(time.Second, 100*time.Millisecond)):
		}
		if !inner.Valid() {
			t.Error("the entry that is left is not valid")
		}
		must(t, inner.Unlock(background))
		must(t, have(t, waiting).Unlock(background))
	}
}

// LastToken is the same for two reads that nobody wrote between, and is never that when somebody
// did, however far apart the masters' counters are.
func lastTokenTellsOfWriters(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	fenceKey := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
	last := fence.Token(0)
	for i := range 12 {
		must(t, d.raw[i%len(d.raw)].IncrBy(background, fenceKey, int64(i*7)).Err())
		writer := mustTry(t, a, "job")
		token := writer.Token()
		must(t, writer.Unlock(background))
		must(t, d.raw[(i+1)%len(d.raw)].IncrBy(background, fenceKey, int64(i*5)).Err())
		first := mustTryRead(t, b, "job")
		second := mustTryRead(t, a, "job")
		if first.LastToken() < token || first.LastToken() <= last {
			t.Errorf("last token %v after a writer with %v; before that it was %v", first.LastToken(), token, last)
		}
		if first.Token().Valid() {
			t.Errorf("a reader has the token %v", first.Token())
		}
		last = max(first.LastToken(), second.LastToken())
		unlockAll(t, first, second)
	}
	var seen []fence.Token
	for range 3 {
		lock := mustTryRead(t, a, "job")
		seen = append(seen, lock.LastToken())
		must(t, lock.Unlock(background))
		settled(t, a)
	}
	// The counter that is ahead may be seen by any of them, and once.
	if seen[0] < last || !slices.IsSorted(seen) || seen[0] != seen[1] && seen[1] != seen[2] {
		t.Errorf("nobody wrote, and the last tokens are %v", seen)
	}
}

func guardsRefuseReaders(t *testing.T, d *deployment) {
	c := d.reached()
	var store fence.Memory
	lock := mustTryRead(t, c, "job")
	if err := store.Do(lock.Context(), "job", lock.Token(), func() error { return nil }); err == nil {
		t.Error("a guard takes a reader's write")
	}
	if _, ok := fence.FromContext(lock.Context()); ok {
		t.Error("the context carries a token")
	}
	_, err := c.Verify(background, "job", lock.Token())
	requireErr(t, err, ErrBadOption)
	must(t, lock.Unlock(background))

	writer := mustTry(t, c, "job")
	token := writer.Token()
	if verdict, err := c.Verify(background, "job", token); verdict != VerifyValid {
		t.Errorf("%v, %v", verdict, err)
	}
	must(t, writer.Downgrade(background))
	settled(t, c)
	if verdict, err := c.Verify(background, "job", token); verdict != VerifyStale {
		t.Errorf("of a writer that reads now: %v, %v", verdict, err)
	}
	must(t, writer.Unlock(background))
}

func doReads(t *testing.T, d *deployment) {
	c := d.reached()
	wrong := errors.New("work failed")
	var together sync.WaitGroup
	together.Add(3)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			err := c.DoRead(background, "job", func(ctx context.Context) error {
				together.Done()
				together.Wait() // they are in it at once
				return wrong
			})
			if !errors.Is(err, wrong) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "000" })
}

// A reader's hold ends as a writer's does: when a quorum has lost it; and a minority is repaired.
func readerIsLostOrRepaired(t *testing.T, d *deployment) {
	events := &recorder{}
	c := d.reached(WithRequestTimeout(d.request()), WithObserver(Observer{
		Acquired: func(_ context.Context, a Acquisition) {
			events.note("acquired %v %v %d", a.Token, a.Reads, len(a.Votes))
		},
		Ended: func(_ context.Context, e HoldEnd) { events.note("ended %v %v %v", e.Token, e.Reads, e.Cause) },
	}))
	lock := mustTryRead(t, c, "job", WithTTL(d.ttl()))
	d.drop(c, "job", 0, 1)
	d.readBy("job", 1)
	if !lock.Valid() {
		t.Error("lost on a minority, and it ended")
	}
	counted(t, lock, 0, 1)
	d.drop(c, "job", 0, 1, 2)
	<-lock.Context().Done()
	if cause := context.Cause(lock.Context()); cause != ErrLost {
		t.Errorf("cause %v", cause)
	}
	requireErr(t, lock.Unlock(background), ErrLost)
	eventually(t, "what was left is released", func() bool { return d.holders("job") == "00000" })
	if events.count("acquired 0 true 5") != 1 || events.count(fmt.Sprint("ended 0 true ", ErrLost)) != 1 {
		t.Errorf("the observer was told %q", events.events)
	}
	fixed := mustTryRead(t, c, "job", WithoutWatchdog())
	d.drop(c, "job", 0, 1, 2)
	_, err := c.TryRLock(fixed.Context(), "job")
	requireErr(t, err, ErrNotAcquired, ErrLost)
	requireErr(t, fixed.Unlock(background), ErrLost)

	again := mustTryRead(t, c, "job", WithTTL(d.ttl()), WithoutWatchdog())
	before := again.Until()
	must(t, again.Extend(background, 20*time.Second))
	if left := time.Until(again.Until()); left < 19*time.Second {
		t.Errorf("%v left after Extend by 20 s, before it %v", left, time.Until(before))
	}
	must(t, again.Unlock(background))
}

// Readers and writers that split the votes give them back, and come to an end.
func readersAndWritersContend(t *testing.T, d *deployment) {
	var clients []*Client
	for range 4 {
		clients = append(clients, d.reached())
	}
	var mu sync.Mutex
	readers, writers, reads, writes := 0, 0, 0, 0
	inside := func(r, w int) {
		mu.Lock()
		defer mu.Unlock()
		readers, writers = readers+r, writers+w
		reads, writes = reads+max(r, 0), writes+max(w, 0)
		if writers > 1 || writers == 1 && readers > 0 {
			t.Errorf("%d writers and %d readers", writers, readers)
		}
	}
	var all sync.WaitGroup
	for i, c := range clients {
		for j := range 3 {
			all.Go(func() {
				for n := range 6 {
					if (i+j+n)%3 == 0 {
						check(t, c.Do(background, "job", func(context.Context, fence.Token) error {
							inside(0, 1)
							defer inside(0, -1)
							time.Sleep(time.Millisecond)
							return nil
						}))
						continue
					}
					check(t, c.DoRead(background, "job", func(context.Context) error {
						inside(1, 0)
						defer inside(-1, 0)
						time.Sleep(time.Millisecond)
						return nil
					}))
				}
			})
		}
	}
	all.Wait()
	if reads != 48 || writes != 24 {
		t.Errorf("%d reads and %d writes", reads, writes)
	}
	eventually(t, "free everywhere", func() bool { return d.holders("job") == "00000" })
	d.inLine("job", 0)
}

// A dead context does not keep a reader's Unlock from its work, and Close frees readers.
func readersAreGivenBack(t *testing.T, d *deployment) {
	c, other := d.reached(), d.reached()
	ctx, cancel := context.WithCancel(background)
	lock, err := c.TryRLock(ctx, "job")
	must(t, err)
	cancel()
	must(t, lock.Unlock(ctx))
	unlockAll(t, mustTry(t, other, "job"))
	mustTryRead(t, c, "job")
	downgraded := mustTry(t, c, "other")
	must(t, downgraded.Downgrade(background))
	must(t, c.Close())
	unlockAll(t, mustTry(t, other, "job"), mustTry(t, other, "other"))
}

// What readers do on a master, one operation after the other.
func TestReadersOnAMaster(t *testing.T) {
	t.Parallel()
	ttl := quorum.TermsOf(10*time.Second, 0, 0)
	type step struct {
		do     func(h map[string]*lease.Owner) script.Call
		answer script.Answer
		left   time.Duration // remaining, of a refusal
	}
	acquire := func(who string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call { return h[who].AcquireCall(ttl, nowhere) }
	}
	queue := func(who, channel, ticket string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call {
			return h[who].AcquireCall(ttl, lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(ticket)})
		}
	}
	release := func(who string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call { return h[who].ReleaseCall() }
	}
	extend := func(who string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call { return h[who].ExtendCall(ttl) }
	}
	repair := func(who string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call { return h[who].RepairCall(1, ttl) }
	}
	mark := func(who string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call { return h[who].UndoCall(lease.GoneTTL, nowhere) }
	}
	leave := func(channel string) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call {
			return script.Leave.Call([]*string{&h["r"].Keys.Lock, &h["r"].Keys.Queue, &h["r"].Keys.Asked}, &channel)
		}
	}
	asReader := func(who string, do func(map[string]*lease.Owner) script.Call) func(map[string]*lease.Owner) script.Call {
		return func(h map[string]*lease.Owner) script.Call {
			h[who].Reads.Store(true)
			return do(h)
		}
	}
	const early, later, last = "1400000000000000", "1500000000000000", "1600000000000000"
	yes, no, held := script.Granted, script.Refused, script.Held
	for claim, steps := range map[string][]step{
		"readers share": {
			{acquire("r"), yes, 0}, {acquire("s"), yes, 0}, {acquire("w"), held, 10 * time.Second},
			{release("r"), yes, 0}, {acquire("w"), held, 10 * time.Second}, {release("s"), yes, 0}, {acquire("w"), yes, 0}, {acquire("r"), held, 10 * time.Second},
		},
		"what is released is not another's": {
			{acquire("r"), yes, 0}, {release("s"), held, 0}, {release("w"), held, 0}, {acquire("w"), held, 10 * time.Second},
			{release("r"), yes, 0}, {release("r"), no, 0}, {acquire("w"), yes, 0}, {release("r"), held, 0},
		},
		"an extension makes nothing": {
			{extend("r"), no, 0}, {acquire("s"), yes, 0}, {extend("r"), no, 0}, {extend("w"), no, 0}, {release("s"), yes, 0},
			{acquire("w"), yes, 0}, {extend("r"), no, 0},
		},
		"again is once": {
			{acquire("r"), yes, 0}, {acquire("r"), yes, 0}, {release("r"), yes, 0}, {acquire("w"), yes, 0},
		},
		"who gave up is not granted later": {
			{mark("r"), no, 0}, {acquire("r"), no, 0}, {acquire("s"), yes, 0}, {acquire("r"), no, 0}, {repair("r"), no, 0}, {release("s"), yes, 0},
			{acquire("w"), yes, 0},
		},
		"a downgrade, and again": {
			{acquire("w"), yes, 0}, {asReader("w", extend("w")), yes, 0}, {acquire("r"), yes, 0}, {extend("w"), yes, 0},
			{acquire("x"), held, 10 * time.Second}, {release("w"), yes, 0}, {release("r"), yes, 0}, {acquire("x"), yes, 0},
		},
		"what a writer sent comes after the downgrade": {
			{acquire("w"), yes, 0}, {asReader("w", extend("w")), yes, 0},
			{func(h map[string]*lease.Owner) script.Call {
				return script.Extend.Call([]*string{&h["w"].Keys.Lock}, "w", 10000)
			}, yes, 0},
			{func(h map[string]*lease.Owner) script.Call {
				k := &h["w"].Keys
				return script.Reenter.Call([]*string{&k.Lock, &k.Fence, &k.Gone, &k.Queue}, "w", 2, 10000)
			}, yes, 0},
			{func(h map[string]*lease.Owner) script.Call {
				k := &h["w"].Keys
				return script.Acquire.Call([]*string{&k.Lock, &k.Fence, &k.Gone, &k.Queue}, "w", 10000)
			}, held, 10 * time.Second},
			{func(h map[string]*lease.Owner) script.Call {
				return script.Release.Call([]*string{&h["w"].Keys.Lock, &h["w"].Keys.Queue}, "w")
			}, yes, 0},
			{acquire("x"), yes, 0},
		},
		"a reader is repaired, but not beside a writer": {
			{repair("r"), yes, 0}, {repair("s"), yes, 0}, {repair("w"), no, 0}, {acquire("w"), held, 10 * time.Second},
			{release("r"), yes, 0}, {release("s"), yes, 0}, {acquire("w"), yes, 0}, {repair("r"), no, 0},
		},
		"a writer that waits comes first": {
			{acquire("r"), yes, 0}, {queue("w", "x", later), held, 10 * time.Second}, {acquire("s"), held, time.Second},
			{queue("s", "y", last), held, time.Second}, {queue("s", "y", early), yes, 0},
			{release("r"), yes, 0}, {release("s"), yes, 0}, {acquire("s"), held, 200 * time.Millisecond}, {queue("w", "x", later), yes, 0},
		},
		"readers that were called come before the writer": {
			{acquire("w"), yes, 0}, {queue("r", "x", early), held, 10 * time.Second}, {queue("s", "y", early), held, 10 * time.Second},
			{queue("x", "z", later), held, 10 * time.Second}, {release("w"), yes, 0},
			{acquire("t"), held, 200 * time.Millisecond}, {acquire("v"), held, 200 * time.Millisecond}, // one that came just now, and a writer
			{queue("s", "y", early), yes, 0}, {queue("r", "x", early), yes, 0}, {acquire("t"), held, time.Second},
		},
		"a reader that was called and does not come": {
			{acquire("w"), yes, 0}, {queue("r", "x", early), held, 10 * time.Second}, {queue("x", "z", later), held, 10 * time.Second},
			{release("w"), yes, 0}, {leave("x"), yes, 0}, {queue("x", "z", later), yes, 0},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
				d.reached()
				r := d.raw[0]
				sub := r.Subscribe(background, "x", "y", "z")
				t.Cleanup(func() { _ = sub.Close() })
				for range 3 {
					_, err := sub.Receive(background)
					must(t, err)
				}
				go func() {
					for range sub.Channel() { // so that nobody has to wait for us
					}
				}()
				holds := map[string]*lease.Owner{}
				for _, who := range []string{"r", "s", "t", "v", "w", "x"} {
					h := &lease.Owner{ID: who, Keys: script.KeysOf(limits.DefaultPrefix, "job", who), Token: 1 << 41}
					h.Reads.Store(strings.Contains("rst", who))
					holds[who] = h
				}
				for i, s := range steps {
					v, err := callIn(script.BatchSource, r, s.do(holds))
					if v.Answer != s.answer || v.Answer == script.Held && v.Remaining.Round(10*time.Millisecond) != s.left {
						t.Errorf("step %d: %v for %v more (%v), want %v for %v", i, v.Answer, v.Remaining, err, s.answer, s.left)
					}
				}
			})
		})
	}
}

// Readers from the future end as writers from there do: at the longest lease.
func TestReadersFromTheFuture(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		settings := []Option{WithRequestTimeout(d.request()), WithMaxTTL(4 * d.ttl()), WithTTL(d.ttl())}
		c, rival := d.client(settings...), d.client(settings...)
		one, two := mustTryRead(t, c, "job", WithoutWatchdog()), mustTryRead(t, c, "job", WithoutWatchdog())
		settled(t, c)
		for _, r := range d.raw {
			for _, l := range []*Lock{one, two} {
				must(t, r.ZAdd(background, l.h.Keys.Lock, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: l.h.ID}).Err())
			}
			must(t, r.Persist(background, one.h.Keys.Lock).Err())
		}
		_, err := rival.TryLock(background, "job")
		if q, ok := errors.AsType[*QuorumError](err); !ok || q.FreeIn != 4*d.ttl() {
			t.Errorf("%v; want free in %v", err, 4*d.ttl())
		}
		writer, err := rival.Lock(background, "job", WithWait(8*d.ttl()))
		must(t, err)
		must(t, writer.Unlock(background))
	})
}

// A reader that entered several times and died keeps writers out for one ttl, not for one an entry.
func aReEnteredReaderThatDies(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	outer := mustTryRead(t, a, "job", WithTTL(d.ttl()), WithoutWatchdog())
	for range 4 {
		_, err := a.TryRLock(outer.Context(), "job", WithTTL(d.ttl()))
		must(t, err)
	}
	settled(t, a)
	start := time.Now()
	writer, err := b.Lock(background, "job")
	must(t, err)
	if took := time.Since(start); took > d.ttl()+d.ttl()/2 {
		t.Errorf("the writer got in after %v, the ttl is %v", took, d.ttl())
	}
	must(t, writer.Unlock(background))
}

// All readers of a client are renewed, not only the one that came last.
func manyReadersAreRenewed(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	var locks []*Lock
	for range 20 {
		locks = append(locks, mustTryRead(t, c, "job", WithTTL(d.ttl())))
	}
	time.Sleep(2 * d.ttl())
	for i, l := range locks {
		if i%2 == 0 {
			must(t, l.Unlock(background)) // ends nobody else's renewals
		}
	}
	time.Sleep(2 * d.ttl())
	for i, l := range locks {
		if i%2 == 1 {
			must(t, l.Unlock(background))
		}
	}
}

// A reader with a short lease cuts nobody's, whether it ends or leaves.
func aShortReaderCutsNoOther(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	long := mustTryRead(t, a, "job", WithTTL(20*time.Second), WithoutWatchdog())
	mustTryRead(t, b, "job", WithTTL(d.ttl()), WithoutWatchdog()) // ends
	must(t, mustTryRead(t, b, "job", WithTTL(d.ttl())).Unlock(background))
	time.Sleep(d.ttl() + d.ttl()/2)
	_, err := b.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	if !long.Valid() {
		t.Error("not valid")
	}
	must(t, long.Unlock(background))
	unlockAll(t, mustTry(t, b, "job"))
}

// Nothing renews a reader that was unlocked, however often it had entered.
func anUnlockedReaderIsNotRenewed(t *testing.T, d *deployment) {
	c := d.reached(WithRequestTimeout(d.request()))
	outer := mustTryRead(t, c, "job", WithTTL(d.ttl()))
	var inner []*Lock
	for range 3 {
		one, err := c.TryRLock(outer.Context(), "job")
		must(t, err)
		inner = append(inner, one)
	}
	unlockAll(t, inner...)
	must(t, outer.Unlock(background))
	settled(t, c) // an Unlock waits for a quorum
	for end := time.Now().Add(2 * d.ttl()); time.Now().Before(end); time.Sleep(d.ttl() / 20) {
		if got := d.holders("job"); got != "000" {
			t.Fatalf("it stands on %s", got)
		}
	}
	if n := len(c.holds.All()); n != 0 {
		t.Errorf("the client has %d holds", n)
	}
}

// A release wakes the writer that waits, and not the end of the lease: of several, one after the other.
func aReleaseWakesTheWriters(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	start := time.Now()
	var all sync.WaitGroup
	for _, c := range []*Client{a, b, a, b} {
		all.Go(func() {
			lock, err := c.Lock(background, "job")
			if err != nil {
				t.Error(err)
				return
			}
			check(t, lock.Downgrade(background))
			time.Sleep(10 * time.Millisecond)
			check(t, lock.Unlock(background))
		})
	}
	all.Wait()
	if took := time.Since(start); took > limits.DefaultTTL/4 {
		t.Errorf("four writers took %v", took)
	}
}
