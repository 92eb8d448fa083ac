package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
)

// The command masters prints the URLs with which a program can lock on these masters, as in the README.
func TestMasters(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() { status <- run(ctx, []string{"masters"}, w, io.Discard) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	harness.Must(t, err)
	masters, found := strings.CutPrefix(strings.TrimSpace(line), "export REDLOCK_MASTERS=")
	if !found {
		t.Fatalf("it prints %q", line)
	}
	client, err := redlock.Open(strings.Split(masters, ","))
	harness.Must(t, err)
	lock, err := client.Lock(t.Context(), "try", redlock.WithWait(time.Minute))
	harness.Must(t, err)
	harness.Must(t, lock.Unlock(t.Context()))
	harness.Must(t, client.Close())
	end()
	if got := <-status; got != 0 {
		t.Errorf("status %d", got)
	}
}
