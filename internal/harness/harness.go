// Package harness has the common parts of tests of a whole client: deployments of masters with
// faults, in virtual time or as redis-server processes, and helpers for clients, locks and waits.
// Only tests may import it.
package harness

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testrights"
)

// Must ends the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrOf returns the error of a call with two results.
func ErrOf(_ any, err error) error { return err }

// Check fails the test if there is an error. Unlike Must, Check works in any goroutine.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// RequireErr ends the test unless err matches every error in want.
func RequireErr(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got error %v; want one that is %v", err, w)
		}
	}
}

// RequireText fails the test unless the text of err has all these words.
func RequireText(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v\nlacks %q", err, word)
		}
	}
}

// RequireDenied fails the test unless err names the missing right.
func RequireDenied(t *testing.T, err error, right string) {
	t.Helper()
	if !errors.Is(err, redlock.ErrDenied) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(testrights.NameOf(right))) {
		t.Errorf("without %s: %v", right, err)
	}
}

// RequireOptionError fails the test unless err names the bad field, and the rule.
func RequireOptionError(t *testing.T, err error, field string) {
	t.Helper()
	o, ok := errors.AsType[*redlock.OptionError](err)
	if !ok || !errors.Is(err, redlock.ErrBadOption) || o.Field != field || o.Rule == "" {
		t.Errorf("got %v, want an OptionError on %s", err, field)
	}
}

// Patience is the longest wait for an event that must come. Only a failing test waits so long.
const Patience = 30 * time.Second

// Eventually waits until state() returns true. It ends the test if that takes longer than Patience.
func Eventually(t *testing.T, what string, state func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for !state() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Within waits until c is closed. It ends the test if that takes longer than Patience.
func Within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(Patience):
		t.Fatalf("not within %v: %s", Patience, what)
	}
}

// Recorder records the events of an Observer.
type Recorder struct {
	mu     sync.Mutex
	events []string
}

// Note adds an event.
func (r *Recorder) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

// Events returns the events so far.
func (r *Recorder) Events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Take returns the events since its last call.
func (r *Recorder) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

// Count returns how many events begin with prefix.
func (r *Recorder) Count(prefix string) (n int) {
	for _, e := range r.Events() {
		if strings.HasPrefix(e, prefix) {
			n++
		}
	}
	return n
}

// Run is for a TestMain: it runs the tests, and exits. If a goroutine of the library outlives the tests, Run fails
// with a text for which ci/test.sh searches.
func Run(m *testing.M) {
	logging.Disable() // go-redis logs each refused dial
	code := m.Run()
	left := goleak.Find()
	for tries := 1; left != nil && tries < 10; tries++ { // on a busy machine the last goroutines may be ending
		left = goleak.Find()
	}
	if left != nil {
		fmt.Fprintf(os.Stderr, "goroutines outlived their clients: %v\n", left)
		code = 1
	}
	os.Exit(code)
}
