package redlock

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/lease"
)

// A failed acquisition returns no Lock, and not everybody looks at the error first.
func TestMethodsOfNoLock(t *testing.T) {
	for name, l := range map[string]*Lock{"nil": nil, "zero": new(Lock)} {
		if l.Name() != "" || l.Token() != 0 || l.Context() != nil || !l.Until().IsZero() || l.Valid() {
			t.Errorf("%s: %q, %v, %v, %v, %v", name, l.Name(), l.Token(), l.Context(), l.Until(), l.Valid())
		}
		requireErr(t, l.Unlock(background), ErrNotAcquired)
		requireErr(t, l.Extend(background, time.Second), ErrNotAcquired)
		if got := fmt.Sprint(l); got != "no lock" {
			t.Errorf("%s: printed as %q", name, got)
		}
	}
}

func TestALockPrintsItsNameAndToken(t *testing.T) {
	l := &Lock{h: &lease.Hold{Name: "job", Owner: lease.Owner{ID: "secret", Token: 17}}}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(format, l), `lock "job", token 17`; got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// A lease that is over ends at no time to come, whatever ended it. One that ran out
// unnoticed ended when it did: from then on counts the time to stop what was done
// under it.
func TestUntilOfWhatIsOverIsOver(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		const ago = 20 * time.Second
		for claim, x := range map[string]struct {
			end  func(l *Lock)
			want time.Duration // after the end
		}{
			"unlocked":    {func(l *Lock) { must(t, l.Unlock(background)) }, 0},
			"closed":      {func(l *Lock) { l.h.End(ErrClosed) }, 0},
			"lost":        {func(l *Lock) { l.h.End(ErrLost) }, 0},
			"not noticed": {func(l *Lock) { d.slept.Add(int64(time.Until(l.Until()) + ago)); l.h.End(ErrExpired) }, -ago},
		} {
			lock := mustTry(t, c, claim)
			if !lock.Until().After(time.Now()) {
				t.Errorf("%s: it ended before it was over", claim)
			}
			time.Sleep(time.Second)
			x.end(lock)
			over := time.Now()
			time.Sleep(time.Second)
			if got := lock.Until().Sub(over); got != x.want {
				t.Errorf("%s: until %v after it was over, want %v", claim, got, x.want)
			}
		}
	})
}

// go vet reports a copied value with a field that has pointer methods Lock and Unlock.
func TestGoVetKnowsThatALockIsNotCopied(t *testing.T) {
	locker := reflect.TypeFor[sync.Locker]()
	lock := reflect.TypeFor[Lock]()
	for i := range lock.NumField() {
		if field := lock.Field(i).Type; field.Kind() == reflect.Struct && reflect.PointerTo(field).Implements(locker) {
			return
		}
	}
	t.Error("no field of Lock is a sync.Locker")
}

// What cannot have been meant panics, in plain words and before any master is asked.
func TestWhatCannotBeMeantPanics(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job")
		var none context.Context
		work := func(context.Context, fence.Token) error { return nil }
		for name, x := range map[string]struct {
			call func()
			says string
		}{
			"TryLock, nil ctx":     {func() { _, _ = c.TryLock(none, "other") }, "nil context"},
			"Lock, nil ctx":        {func() { _, _ = c.Lock(none, "other") }, "nil context"},
			"Do, nil ctx":          {func() { _ = c.Do(none, "other", work) }, "nil context"},
			"Do, nil work":         {func() { _ = c.Do(background, "other", nil) }, "nil work"},
			"Verify, nil ctx":      {func() { _, _ = c.Verify(none, "other", 1) }, "nil context"},
			"Extend, nil ctx":      {func() { _ = lock.Extend(none, time.Second) }, "nil context"},
			"TryLock, zero Client": {func() { _, _ = new(Client).TryLock(background, "other") }, "New or Open"},
			"TryLock, nil Client":  {func() { _, _ = (*Client)(nil).TryLock(background, "other") }, "New or Open"},
			"Lock, with an option": {func() { _, _ = new(Client).Lock(background, "other", WithFair()) }, "New or Open"},
			"Do, zero Client":      {func() { _ = new(Client).Do(background, "other", work) }, "New or Open"},
			"Verify, zero Client":  {func() { _, _ = new(Client).Verify(background, "other", 1) }, "New or Open"},
			"Close, zero Client":   {func() { _ = new(Client).Close() }, "New or Open"},
			"Close, nil Client":    {func() { _ = (*Client)(nil).Close() }, "New or Open"},
		} {
			said := panicOf(x.call)
			if text, ok := said.(string); !ok || !strings.HasPrefix(text, "redlock: ") || !strings.Contains(text, x.says) {
				t.Errorf("%s: the panic is %v, want %q", name, said, x.says)
			}
		}
		if got := d.holders("other"); got != "0" {
			t.Error("held")
		}
		must(t, lock.Unlock(none)) // it does not ask ctx, and must not fail for its sake
	})
}

func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// The watchdog renews by the ttl of the last Extend, as long as the hold lasts.
func TestRenewalsGoByTheLastExtend(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithTTL(time.Second))
		must(t, lock.Extend(background, 30*time.Second))
		time.Sleep(25 * time.Second) // it was renewed at 10 s and 20 s
		if left := time.Until(lock.Until()); left < 20*time.Second {
			t.Errorf("%v of the lease are left, want more than 20 s", left)
		}
		must(t, lock.Unlock(background))
	})
}
