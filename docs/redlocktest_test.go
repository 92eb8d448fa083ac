package docs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestALockIsLost(t *testing.T) {
	t.Parallel()

	// shown: ../README.md
	d := redlocktest.New(t) // five masters
	lock, err := d.Client().Lock(t.Context(), "payroll")
	rival := d.Steal("payroll") // or Expire, Kill, Freeze, Wipe, JumpClock
	<-lock.Context().Done()     // with redlock.ErrLost, and rival.Token() is above lock.Token()
	// end

	if cause := context.Cause(lock.Context()); err != nil || !errors.Is(cause, redlock.ErrLost) || rival.Token() <= lock.Token() {
		t.Errorf("%v, ended with %v; token %v, and then %v", err, cause, lock.Token(), rival.Token())
	}
}
