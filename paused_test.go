package redlock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// holderEnv makes the test binary be a holder, in a process of its own that can
// be stopped without stopping the test.
const holderEnv = "REDLOCK_TEST_HOLDER_URLS"

// beHolder takes the lock, and says what it believes whenever it is asked by a
// line on its standard input.
func beHolder(urls string) {
	c, err := Open(strings.Split(urls, ","), WithTTL(2*time.Second))
	if err != nil {
		panic(err)
	}
	lock, err := c.TryLock(context.Background(), "job")
	if err != nil {
		panic(err)
	}
	fmt.Println("token", lock.Token())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		valid := lock.Valid() // before the context, which may lag by a timer
		lag := 100 * time.Millisecond
		if !valid {
			lag = patience
		}
		select {
		case <-lock.Context().Done():
		case <-time.After(lag):
		}
		fmt.Println("valid", valid, "cause", context.Cause(lock.Context()))
	}
	fmt.Println("unlock", lock.Unlock(context.Background()))
	_ = c.Close()
}

// A process that is stopped past its lease must know, as soon as it goes on, that
// it holds nothing.
func TestStoppedHolderKnowsWhenItGoesOn(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	rival := d.reached()
	var urls []string
	for _, m := range d.masters {
		urls = append(urls, m.(processMaster).URL())
	}
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderEnv+"="+strings.Join(urls, ","))
	holder.Stderr = os.Stderr
	in, err := holder.StdinPipe()
	must(t, err)
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	said := bufio.NewScanner(out)
	line := func() string {
		if !said.Scan() {
			t.Fatal("the holder said nothing: ", said.Err())
		}
		return said.Text()
	}
	ask := func() string {
		_, err := fmt.Fprintln(in)
		must(t, err)
		return line()
	}

	first := line()
	if got := ask(); got != "valid true cause <nil>" {
		t.Fatalf("at first: %s", got)
	}
	must(t, redisproc.Freeze(holder.Process))
	lock, err := rival.Lock(background, "job")
	must(t, err)
	must(t, redisproc.Thaw(holder.Process))
	if got := ask(); got != "valid false cause redlock: lease expired" {
		t.Errorf("after the pause: %s", got)
	}
	if second := fmt.Sprint("token ", lock.Token()); second <= first {
		t.Errorf("%q after %q", second, first)
	}
	must(t, in.Close())
	if got := line(); got != "unlock redlock: lease expired" {
		t.Errorf("unlock of the stopped holder: %s", got)
	}
	if !lock.Valid() {
		t.Error("it took the rival's lock along")
	}
	must(t, lock.Unlock(background))
}
