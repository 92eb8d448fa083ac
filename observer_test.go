package redlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Who waits is told why each attempt failed.
func TestObserverWaiting(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var why []error
		c := d.reached(WithObserver(Observer{Waiting: func(name string, err error) {
			if name == "a" {
				why = append(why, err)
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
