//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// A holder is stopped between its look at the lock and its write, for longer than its lease.
// Another takes over and writes; then the first goes on, and writes what it has worked out from
// what it had read.
func TestHolderThatIsStoppedPastItsLease(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			t.Run("guarded", func(t *testing.T) {
				t.Parallel()
				got := overlap(t, store, true)
				want := &fence.StaleError{Resource: got.account, Token: got.first.Token, Highest: got.second}
				if got.end.Wrote || got.end.Stale == nil || *got.end.Stale != *want {
					t.Errorf("the late write: %+v, want it refused with: %v", got.end, want)
				}
				if got.balance != sum(got.acknowledged) {
					t.Errorf("the balance is %d, want %d", got.balance, sum(got.acknowledged))
				}
			})
			t.Run("unguarded", func(t *testing.T) {
				t.Parallel()
				got := overlap(t, store, false)
				if !got.end.Wrote {
					t.Fatalf("the late write: %+v, want it to go through: no overlap was provoked", got.end)
				}
				// The second entry was acknowledged, is in the list, and is lost.
				if want := sum(got.acknowledged) - secondEntry; got.balance != want {
					t.Errorf("the balance is %d, want it wrong, namely %d: no overlap was provoked", got.balance, want)
				}
			})
		})
	}
}

const (
	firstEntry  = 5
	secondEntry = 10
)

// overlapped is what came of two holders that believed to be the only one.
type overlapped struct {
	account      string
	first        intent
	second       fence.Token
	end          outcome // of the first
	balance      int64   // of the ledger, at last
	acknowledged []int64 // the entries of which a writer was told that they are in
}

func overlap(t *testing.T, s store, guarded bool) (got overlapped) {
	servers := needServers(t)
	at := place{Store: s.name, Account: t.Name() + "/" + rand.Text(), Guarded: guarded}
	at.Source = s.found(t, at)
	ledger, err := at.open()
	must(t, err)
	defer func() { must(t, ledger.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	got.account, got.acknowledged = at.Account, []int64{opening}
	first := startHolder(ctx, t, task{servers.masters, at, firstEntry})
	first.hear(&got.first)
	first.signal(syscall.SIGSTOP)

	// Had it not stopped it would renew its lease, and this would wait in vain.
	must(t, servers.client.Do(ctx, at.Account, func(ctx context.Context, token fence.Token) error {
		got.second = token
		ctx = fence.WithToken(ctx, token)
		balance, err := ledger.read(ctx)
		if err != nil {
			return err
		}
		if err := ledger.book(ctx, secondEntry, balance+secondEntry); err != nil {
			return err
		}
		got.acknowledged = append(got.acknowledged, secondEntry)
		return nil
	}, redlock.WithTTL(10*time.Second)))

	first.tell()
	first.signal(syscall.SIGCONT)
	first.hear(&got.end)
	if got.end.Wrote {
		got.acknowledged = append(got.acknowledged, firstEntry)
	}
	must(t, first.Wait())

	if got.first.Balance != opening || got.first.Token >= got.second {
		t.Errorf("the first holder: %+v, want it before token %d and a balance of %d", got.first, got.second, opening)
	}
	if !got.end.Over {
		t.Errorf("the first holder was not told that it had lost the lock: %+v", got.end)
	}
	var entries []int64
	got.balance, entries, err = ledger.audit(ctx)
	must(t, err)
	slices.Sort(entries)
	slices.Sort(got.acknowledged)
	if !slices.Equal(entries, got.acknowledged) {
		t.Errorf("entries in the ledger: %d, acknowledged: %d", entries, got.acknowledged)
	}
	t.Logf("tokens %d and %d; the late write went through: %t; balance %d, entries %d", got.first.Token, got.second, got.end.Wrote, got.balance, entries)
	return got
}

// holder is a holder's process, seen from outside.
type holder struct {
	*exec.Cmd
	t   *testing.T
	in  io.Writer
	out *json.Decoder
}

// startHolder starts a process that ends with ctx at the latest, even stopped.
func startHolder(ctx context.Context, t *testing.T, do task) holder {
	t.Helper()
	text, err := json.Marshal(do)
	must(t, err)
	process := exec.CommandContext(ctx, os.Args[0])
	// The race detector would sleep for a second before it lets the process end.
	process.Env = append(os.Environ(), holderEnv+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	must(t, err)
	out, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	t.Cleanup(func() {
		if process.ProcessState == nil { // the test failed before it ended
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	})
	return holder{process, t, in, json.NewDecoder(out)}
}

func (h holder) hear(said any) {
	h.t.Helper()
	var text json.RawMessage
	if err := h.out.Decode(&text); err != nil {
		h.t.Fatal("the holder said nothing: ", err)
	}
	understood := json.NewDecoder(bytes.NewReader(text))
	understood.DisallowUnknownFields() // it has ended too early
	if err := understood.Decode(said); err != nil {
		h.t.Fatalf("the holder said %s: %v", text, err)
	}
}

func (h holder) tell() {
	h.t.Helper()
	_, err := io.WriteString(h.in, "go on\n")
	must(h.t, err)
}

func (h holder) signal(s syscall.Signal) {
	h.t.Helper()
	must(h.t, h.Process.Signal(s))
}

func sum(entries []int64) (total int64) {
	for _, entry := range entries {
		total += entry
	}
	return total
}
