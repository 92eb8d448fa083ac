package redlock_test

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

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// readersOn returns each master's number of readers, or -1 if a writer has the key.
func readersOn(d *harness.Deployment, name string) (counts []int64) {
	for _, r := range d.Raw {
		n, err := r.ZCard(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Result()
		if err != nil {
			n = -1
		}
		counts = append(counts, n)
	}
	return counts
}

// readBy waits until every master has n readers.
func readBy(d *harness.Deployment, name string, n int64) {
	d.T.Helper()
	harness.Eventually(d.T, fmt.Sprintf("%d readers on every master", n), func() bool {
		for _, is := range readersOn(d, name) {
			if is != n {
				return false
			}
		}
		return true
	})
}

// endOn returns when a reader's hold ends on a master, by the master's clock.
func endOn(t *testing.T, r *redis.Client, l *redlock.Lock) time.Time {
	t.Helper()
	score, err := r.ZScore(context.Background(), harness.Hold(l).Keys.Lock, harness.Hold(l).ID).Result()
	harness.Must(t, err)
	return time.UnixMilli(int64(score))
}

func manyReadersOrOneWriter(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	one, two, three := harness.MustTryRead(t, a, "job"), harness.MustTryRead(t, b, "job"), harness.MustTryRead(t, b, "job")
	for _, c := range []*redlock.Client{a, b} {
		_, err := c.TryLock(context.Background(), "job")
		harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
		if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.FreeIn <= limits.DefaultTTL/2 || q.FreeIn > limits.DefaultTTL {
			t.Errorf("%v; want free in %v", err, limits.DefaultTTL)
		}
	}
	harness.UnlockAll(t, one, three)
	harness.RequireErr(t, harness.ErrOf(a.TryLock(context.Background(), "job")), redlock.ErrHeld)
	harness.Must(t, two.Unlock(context.Background()))
	harness.Settled(t, a) // each Unlock waits for a quorum only, so maybe no quorum has freed all three yet
	harness.Settled(t, b)
	writer := harness.MustTry(t, a, "job")
	for _, c := range []*redlock.Client{a, b} {
		harness.RequireErr(t, harness.ErrOf(c.TryRLock(context.Background(), "job")), redlock.ErrNotAcquired, redlock.ErrHeld)
	}
	if !harness.Hold(two).Reads.Load() || harness.Hold(writer).Reads.Load() {
		t.Error("modes")
	}
	harness.Must(t, writer.Unlock(context.Background()))
	harness.Settled(t, a)
	harness.UnlockAll(t, harness.MustTryRead(t, b, "job"))
	harness.RequireErr(t, one.Unlock(context.Background()), redlock.ErrReleased)
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "00000" })
}

// A dead reader keeps writers out for its ttl at most. The renewals and Unlocks of other readers do not change its
// time.
func readersExpireAlone(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start := time.Now()
	dead := harness.MustTryRead(t, a, "job", redlock.WithTTL(d.TTL()), redlock.WithoutWatchdog())
	alive := harness.MustTryRead(t, b, "job", redlock.WithTTL(d.TTL()))
	brief := harness.MustTryRead(t, b, "job", redlock.WithTTL(2*d.TTL()))
	harness.Settled(t, a)
	ended := endOn(t, d.Raw[0], dead)
	time.Sleep(d.TTL() / 2) // the reader alive has renewed its lease
	harness.Must(t, brief.Unlock(context.Background()))
	if at := endOn(t, d.Raw[0], dead); !at.Equal(ended) {
		t.Errorf("the time of a reader went from %v to %v when others renewed and left", ended, at)
	}
	if at := endOn(t, d.Raw[0], alive); !at.After(ended) {
		t.Errorf("the reader that renews ends at %v, that which does not at %v", at, ended)
	}
	<-dead.Context().Done()
	if cause := context.Cause(dead.Context()); cause != redlock.ErrExpired || !alive.Valid() {
		t.Errorf("cause %v; the other is valid: %v", cause, alive.Valid())
	}
	time.Sleep(time.Until(start.Add(d.TTL() + d.TTL()/4)))
	harness.Must(t, alive.Unlock(context.Background()))
	took := time.Now()
	writer := harness.MustLock(t, a, "job")
	if late := time.Since(took); late > d.TTL()/4 {
		t.Errorf("the dead reader kept a writer out for %v after its ttl", late)
	}
	harness.RequireErr(t, dead.Unlock(context.Background()), redlock.ErrExpired)
	if !writer.Valid() || strings.Count(d.Holders("job"), "1") < 2 {
		t.Error("the late Unlock of a reader freed the writer's lock")
	}
	harness.Must(t, writer.Unlock(context.Background()))
}

// A writer waits until the lease of a dead reader ends, and no longer, however long the leases of
// other readers are.
func deadReaderBlocksForItsTTL(t *testing.T, d *harness.Deployment) {
	a, b, w := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start := time.Now()
	harness.MustTryRead(t, a, "job", redlock.WithTTL(2*d.TTL()), redlock.WithoutWatchdog()) // this reader dies
	alive := harness.MustTryRead(t, b, "job", redlock.WithTTL(20*time.Second))
	got := harness.GoLock(t, w, "job")
	d.InLine("job", 1)
	harness.Must(t, alive.Unlock(context.Background()))
	writer := harness.Have(t, got)
	if took, most := time.Since(start), 2*d.TTL()+2*acquire.AskInterval+d.Request(); took < 2*d.TTL()-time.Millisecond || took > most {
		t.Errorf("the writer got in after %v; want after %v, and before %v", took, 2*d.TTL(), most)
	}
	harness.Must(t, writer.Unlock(context.Background()))
}

func writersAreNotStarved(t *testing.T, d *harness.Deployment) {
	a, b, w := d.Reached(), d.Reached(), d.Reached()
	first := harness.MustTryRead(t, a, "job")
	waiting := harness.GoLock(t, w, "job")
	d.InLine("job", 1)
	d.TicketOf(w, "job")
	harness.RequireErr(t, harness.ErrOf(b.TryRLock(context.Background(), "job")), redlock.ErrNotAcquired, redlock.ErrHeld)
	second, err := a.TryRLock(first.Context(), "job")
	harness.Must(t, err)
	late := []<-chan *redlock.Lock{harness.GoRLock(t, a, "job"), harness.GoRLock(t, b, "job")}
	d.InLine("job", 3)
	for _, c := range []*redlock.Client{a, b} {
		d.TicketOf(c, "job")
	}
	harness.UnlockAll(t, first, second)
	writer := harness.Have(t, waiting)
	start := time.Now()
	select {
	case <-late[0]:
		t.Error("a reader got in beside the writer")
	case <-late[1]:
		t.Error("a reader got in beside the writer")
	case <-time.After(50 * time.Millisecond):
	}
	harness.Must(t, writer.Unlock(context.Background()))
	harness.UnlockAll(t, harness.Have(t, late[0]), harness.Have(t, late[1])) // both at once: neither waits for the other's Unlock
	if took := time.Since(start); took > d.Either(100*time.Millisecond, acquire.AskInterval) {
		t.Errorf("the readers got in after %v: nobody called them", took)
	}
}

// A release calls all readers up to the first writer, and not those behind it.
func readersAreCalledUpToFirstWriter(t *testing.T, d *harness.Deployment) {
	holder := d.Reached()
	clients := []*redlock.Client{d.Reached(), d.Reached(), d.Reached(), d.Reached()}
	held := harness.MustTry(t, holder, "job")
	var got []<-chan *redlock.Lock
	for i, c := range clients {
		if i == 2 {
			got = append(got, harness.GoLock(t, c, "job"))
		} else {
			got = append(got, harness.GoRLock(t, c, "job"))
		}
		d.InLine("job", int64(i+1))
		d.TicketOf(c, "job")
	}
	harness.Must(t, held.Unlock(context.Background()))
	start := time.Now()
	one, two := harness.Have(t, got[0]), harness.Have(t, got[1])
	if took := time.Since(start); took > d.Either(100*time.Millisecond, acquire.AskInterval) {
		t.Errorf("the readers got in after %v: nobody called them", took)
	}
	select {
	case <-got[2]:
		t.Error("the writer got in beside readers")
	case <-got[3]:
		t.Error("the reader behind the writer got in before it")
	case <-time.After(d.Either(time.Second, 300*time.Millisecond)):
	}
	harness.UnlockAll(t, one, two)
	harness.Must(t, harness.Have(t, got[2]).Unlock(context.Background()))
	harness.Must(t, harness.Have(t, got[3]).Unlock(context.Background()))
	d.InLine("job", 0)
}

func downgrade(t *testing.T, d *harness.Deployment) {
	a, b, rival := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(d.TTL()))
	token := lock.Token()
	reader := harness.GoRLock(t, b, "job")
	d.InLine("job", 1)
	d.TicketOf(b, "job")
	writer := harness.GoLock(t, rival, "job")
	d.InLine("job", 2)
	d.TicketOf(rival, "job")

	harness.Must(t, lock.Downgrade(context.Background()))
	one := harness.Have(t, reader) // the waiting reader was called
	if lock.Token().Valid() || lock.LastToken() != token || one.LastToken() < token {
		t.Errorf("token %v, last %v, the other's last %v; the writer's token was %v", lock.Token(), lock.LastToken(), one.LastToken(), token)
	}
	if token, ok := fence.FromContext(lock.Context()); ok {
		t.Errorf("the context of a reader carries the token %v", token)
	}
	select {
	case <-writer:
		t.Error("another writes beside two readers")
	case <-time.After(2 * d.TTL()): // meanwhile both readers are renewed
	}
	if !lock.Valid() || !one.Valid() {
		t.Errorf("the readers are valid: %v, %v", lock.Valid(), one.Valid())
	}
	harness.Must(t, lock.Downgrade(context.Background())) // a second Downgrade does nothing
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Must(t, one.Unlock(context.Background()))
	next := harness.Have(t, writer)
	if next.Token() <= token {
		t.Errorf("token %v after %v", next.Token(), token)
	}
	harness.Must(t, next.Unlock(context.Background()))
	harness.RequireErr(t, next.Downgrade(context.Background()), redlock.ErrReleased)
	harness.Eventually(t, "free everywhere", func() bool { return d.Holders("job") == "00000" })
}

func upgradeIsRefused(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	reader := harness.MustTryRead(t, c, "job")
	start := time.Now()
	for _, lock := range []func(*redlock.Client, context.Context, string, ...redlock.LockOption) (*redlock.Lock, error){(*redlock.Client).TryLock, (*redlock.Client).Lock} {
		harness.RequireErr(t, harness.ErrOf(lock(c, reader.Context(), "job", redlock.WithWait(harness.Patience))), redlock.ErrNotAcquired, redlock.ErrUpgrade)
	}
	harness.RequireErr(t, c.Do(reader.Context(), "job", func(context.Context, fence.Token) error { return nil }), redlock.ErrUpgrade)
	if took := time.Since(start); took > d.Either(0, acquire.AskInterval) {
		t.Errorf("it took %v", took)
	}
	if !reader.Valid() {
		t.Error("the reader's hold ended")
	}
	downgraded := harness.MustTry(t, c, "other")
	harness.Must(t, downgraded.Downgrade(context.Background()))
	harness.RequireErr(t, harness.ErrOf(c.TryLock(downgraded.Context(), "other")), redlock.ErrUpgrade)
	harness.UnlockAll(t, reader, downgraded)
	harness.UnlockAll(t, harness.MustTry(t, c, "job"))
}

// Re-entry works for writing in a writer's hold, and for reading in both kinds of hold, even while a writer waits. A
// new reader would queue behind that writer.
func reentryOfReadersAndWriters(t *testing.T, d *harness.Deployment) {
	a, rival := d.Reached(), d.Reached()
	for _, readFirst := range []bool{false, true} {
		outer := harness.MustTry(t, a, "job")
		if readFirst {
			harness.Must(t, outer.Unlock(context.Background()))
			outer = harness.MustTryRead(t, a, "job")
		}
		waiting := harness.GoLock(t, rival, "job")
		d.InLine("job", 1)
		inner, err := a.RLock(outer.Context(), "job", redlock.WithWait(d.Request()))
		harness.Must(t, err)
		var deeper *redlock.Lock
		if readFirst {
			deeper, err = a.TryRLock(inner.Context(), "job")
		} else {
			deeper, err = a.TryLock(inner.Context(), "job") // the outer hold is a writer's
			harness.RequireErr(t, outer.Downgrade(context.Background()), redlock.ErrWriters)
			harness.RequireErr(t, inner.Downgrade(context.Background()), redlock.ErrWriters)
		}
		harness.Must(t, err)
		if inner.Token() != outer.Token() || deeper.Token() != outer.Token() || outer.Token().Valid() == readFirst {
			t.Errorf("tokens %v, %v, %v of one hold", outer.Token(), inner.Token(), deeper.Token())
		}
		harness.UnlockAll(t, outer, deeper)
		select {
		case <-waiting:
			t.Error("a reader is left in the hold, and another writes")
		case <-time.After(d.Either(time.Second, 100*time.Millisecond)):
		}
		if !inner.Valid() {
			t.Error("the entry that is left is not valid")
		}
		harness.Must(t, inner.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, waiting).Unlock(context.Background()))
	}
}

func guardsRefuseReaders(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	var store fence.Memory
	lock := harness.MustTryRead(t, c, "job")
	if err := store.Do(lock.Context(), "job", lock.Token(), func() error { return nil }); err == nil {
		t.Error("a guard takes a reader's write")
	}
	if _, ok := fence.FromContext(lock.Context()); ok {
		t.Error("the context carries a token")
	}
	harness.RequireErr(t, harness.ErrOf(c.Verify(context.Background(), "job", lock.Token())), redlock.ErrBadOption)
	harness.Must(t, lock.Unlock(context.Background()))

	writer := harness.MustTry(t, c, "job")
	token := writer.Token()
	if verdict, err := c.Verify(context.Background(), "job", token); verdict != redlock.VerifyValid {
		t.Errorf("%v, %v", verdict, err)
	}
	harness.Must(t, writer.Downgrade(context.Background()))
	harness.Settled(t, c)
	if verdict, err := c.Verify(context.Background(), "job", token); verdict != redlock.VerifyStale {
		t.Errorf("of a writer that reads now: %v, %v", verdict, err)
	}
	harness.Must(t, writer.Unlock(context.Background()))
}

// A reader's hold ends like a writer's, when a quorum of masters has lost it. If a minority has lost it, the hold is
// repaired.
func readerIsLostOrRepaired(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTryRead(t, c, "job", redlock.WithTTL(d.TTL()))
	d.Drop(c, "job", 0, 1)
	readBy(d, "job", 1)
	if !lock.Valid() {
		t.Error("lost on a minority, and it ended")
	}
	harness.Counted(t, c, lock, 0, 1)
	d.Drop(c, "job", 0, 1, 2)
	<-lock.Context().Done()
	if cause := context.Cause(lock.Context()); cause != redlock.ErrLost {
		t.Errorf("cause %v", cause)
	}
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrLost)
	harness.Eventually(t, "what was left is released", func() bool { return d.Holders("job") == "00000" })
	fixed := harness.MustTryRead(t, c, "job", redlock.WithoutWatchdog())
	d.Drop(c, "job", 0, 1, 2)
	harness.RequireErr(t, harness.ErrOf(c.TryRLock(fixed.Context(), "job")), redlock.ErrNotAcquired, redlock.ErrLost)
	harness.RequireErr(t, fixed.Unlock(context.Background()), redlock.ErrLost)
}

// Nothing renews a reader that was unlocked, however often it had entered.
func unlockedReaderIsNotRenewed(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithRequestTimeout(d.Request()))
	outer := harness.MustTryRead(t, c, "job", redlock.WithTTL(d.TTL()))
	var inner []*redlock.Lock
	for range 3 {
		one, err := c.TryRLock(outer.Context(), "job")
		harness.Must(t, err)
		inner = append(inner, one)
	}
	harness.UnlockAll(t, inner...)
	harness.Must(t, outer.Unlock(context.Background()))
	harness.Settled(t, c) // an Unlock waits for a quorum
	for end := time.Now().Add(2 * d.TTL()); time.Now().Before(end); time.Sleep(d.TTL() / 20) {
		if got := d.Holders("job"); got != "000" {
			t.Fatalf("it is held on %s", got)
		}
	}
	if n := c.Holds(); n != 0 {
		t.Errorf("the client has %d holds", n)
	}
}

// The readers of a client enter one round trip after its first reader, but not before an earlier writer of any client.
func TestReadersOfClientEnterTogether(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		d.Client() // founds the deployment
		d.MoveAway(func() time.Duration { return 10 * time.Millisecond })
		c, other, holder := d.Reached(), d.Reached(), d.Reached()
		held := harness.MustTry(t, holder, "job")
		var entered harness.Recorder
		var all sync.WaitGroup
		var start time.Time
		enters := func(lock func(context.Context, string, ...redlock.LockOption) (*redlock.Lock, error), who string) {
			all.Go(func() {
				got, err := lock(context.Background(), "job")
				harness.Check(t, err)
				entered.Note("%s after %v", who, time.Since(start).Truncate(200*time.Millisecond))
				time.Sleep(time.Second)
				harness.Check(t, got.Unlock(context.Background()))
			})
			time.Sleep(time.Millisecond)
		}
		enters(c.RLock, "first")
		d.TicketOf(c, "job")
		for range 30 {
			enters(c.RLock, "early")
		}
		enters(other.Lock, "writer")
		d.TicketOf(other, "job")
		enters(c.RLock, "late")
		enters(c.Lock, "own writer")
		enters(c.RLock, "last")
		start = time.Now()
		harness.Must(t, held.Unlock(context.Background()))
		all.Wait()
		want := append([]string{"first after 0s"}, slices.Repeat([]string{"early after 0s"}, 30)...)
		requireEvents(t, &entered, append(want, "writer after 1s", "late after 2s", "own writer after 3s", "last after 4s")...)
	})
}
