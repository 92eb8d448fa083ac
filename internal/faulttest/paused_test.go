package faulttest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// holderEnv makes the test binary be a holder, in a process of its own that can be stopped without
// stopping the test.
const holderEnv = "REDLOCK_TEST_HOLDER_URLS"

// beHolder takes the lock, and says what it believes whenever it is asked by a line on its standard
// input.
func beHolder(urls string) error {
	c, err := redlock.Open(strings.Split(urls, ","), redlock.WithTTL(2*time.Second))
	if err != nil {
		return err
	}
	lock, err := c.TryLock(context.Background(), "job")
	if err != nil {
		return err
	}
	fmt.Println("token", lock.Token())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		valid := lock.Valid() // before the context, which may lag by a timer
		lag := 100 * time.Millisecond
		if !valid {
			lag = harness.Patience
		}
		select {
		case <-lock.Context().Done():
		case <-time.After(lag):
		}
		fmt.Println("valid", valid, "cause", context.Cause(lock.Context()))
	}
	fmt.Println("unlock", lock.Unlock(context.Background()))
	return c.Close()
}

// A process that is stopped past its lease must know, as soon as it goes on, that it holds nothing.
func TestStoppedHolderKnowsWhenItGoesOn(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	rival := d.Reached()
	var urls []string
	for _, m := range d.Masters {
		urls = append(urls, m.(harness.ProcessMaster).URL())
	}
	holder := harness.StartChild(t, holderEnv, strings.Join(urls, ","))
	first := holder.Line()
	if got := holder.Ask(); got != "valid true cause <nil>" {
		t.Fatalf("at first: %s", got)
	}
	harness.Must(t, redisproc.Freeze(holder.Process))
	lock, err := rival.Lock(context.Background(), "job")
	harness.Must(t, err)
	harness.Must(t, redisproc.Thaw(holder.Process))
	if got := holder.Ask(); got != "valid false cause redlock: lease expired" {
		t.Errorf("after the pause: %s", got)
	}
	if second := fmt.Sprint("token ", lock.Token()); second <= first {
		t.Errorf("%q after %q", second, first)
	}
	holder.CloseInput()
	if got := holder.Line(); got != "unlock redlock: lease expired" {
		t.Errorf("unlock of the stopped holder: %s", got)
	}
	if !lock.Valid() {
		t.Error("it took the rival's lock along")
	}
	harness.Must(t, lock.Unlock(context.Background()))
}
