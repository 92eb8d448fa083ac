package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// holderEnv names the variable with the task of a holder. The test binary is started again for this
// task, as a process that can be stopped.
const holderEnv = "REDLOCK_E2E_HOLDER"

// task makes a holder write an account under its lock.
type task struct {
	Masters []string // URLs
	Store   string
	Source  string
	Account string
}

// outcome is what a holder prints at its end.
type outcome struct {
	Stale *fence.StaleError // the refusal, if the write was refused
	Over  bool              // whether the lock was lost when the write had returned
	Err   string            // everything that went wrong
}

// beHolder locks the account, checks the lock, prints its token, and writes after it has read a line.
func beHolder(text string) {
	var do task
	check(json.Unmarshal([]byte(text), &do))
	store, err := stores[do.Store].open(do.Source)
	check(err)
	client, err := redlock.Open(do.Masters, redlock.WithTTL(time.Second), redlock.WithRequestTimeout(200*time.Millisecond))
	check(err)
	out, in := json.NewEncoder(os.Stdout), bufio.NewReader(os.Stdin)
	err = client.Do(context.Background(), do.Account, func(ctx context.Context, token fence.Token) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		check(out.Encode(token))
		_, err := in.ReadString('\n')
		check(err)
		// The holder checked the lock just before, and cannot notice that it was stopped since then.
		return store.write(context.WithoutCancel(ctx), do.Account, token, "late")
	})
	end := outcome{Over: errors.Is(err, redlock.ErrExpired) || errors.Is(err, redlock.ErrLost)}
	errors.As(err, &end.Stale)
	if err != nil {
		end.Err = err.Error()
	}
	check(out.Encode(end))
	check(errors.Join(client.Close(), store.Close()))
}

// check ends a holder that cannot go on.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
