//go:build unix

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

// A holder is stopped between its check of the lock and its write, until its lease is over. Another holder
// acquires the lock and writes. The guard of each store refuses the first holder's late write.
func TestHolderStoppedPastLeaseIsFenced(t *testing.T) {
	t.Parallel()
	masters := founded(t)
	for name, kind := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			account, source := t.Name()+"/"+rand.Text(), kind.found(t)
			store, err := kind.open(source)
			harness.Must(t, err)
			defer func() { harness.Must(t, store.Close()) }()

			first := startHolder(ctx, t, task{masters.URLs("", ""), name, source, account})
			var older, newer fence.Token
			harness.Must(t, first.output.Decode(&older))
			harness.Must(t, first.Process.Signal(syscall.SIGSTOP))

			// If the first holder had not stopped, it would renew its lease, and this Do would time out.
			harness.Must(t, masters.Client().Do(ctx, account, func(ctx context.Context, token fence.Token) error {
				newer = token
				return store.write(ctx, account, token, "new")
			}, redlock.WithTTL(10*time.Second)))

			_, err = io.WriteString(first.in, "go on\n")
			harness.Must(t, err)
			harness.Must(t, first.Process.Signal(syscall.SIGCONT))
			var end outcome
			harness.Must(t, first.output.Decode(&end))
			harness.Must(t, first.Wait())
			if want := (fence.StaleError{Resource: account, Token: older, Highest: newer}); end.Stale == nil || *end.Stale != want || older >= newer {
				t.Errorf("the late write ended with %q, want %v", end.Err, &want)
			}
			if !end.Over {
				t.Errorf("the first holder got no error of its lost lock: %q", end.Err)
			}
			if value, err := store.read(ctx, account); err != nil || value != "new" {
				t.Errorf("the value is %q, %v, want the one of the newer holder", value, err)
			}
		})
	}
}

type holder struct {
	*exec.Cmd
	in     io.Writer
	output *json.Decoder
}

// startHolder starts a process that ends with ctx at the latest, even if the process is stopped.
func startHolder(ctx context.Context, t *testing.T, do task) holder {
	t.Helper()
	text, err := json.Marshal(do)
	harness.Must(t, err)
	process := exec.CommandContext(ctx, os.Args[0])
	// Without this setting, the race detector sleeps for a second before the process ends.
	process.Env = append(os.Environ(), holderEnv+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	harness.Must(t, err)
	out, err := process.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, process.Start())
	t.Cleanup(func() {
		if process.ProcessState == nil { // the test failed before the process ended
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	})
	return holder{process, in, json.NewDecoder(out)}
}
