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

// holderEnv makes the test binary be a holder, in a process of its own that can be stopped without
// stopping the test. Its value is a task.
const holderEnv = "REDLOCK_E2E_HOLDER"

// task is what a holder has to do: to book Entry in the ledger at Place.
type task struct {
	Masters []string
	Place   place
	Entry   int64
}

// intent is said by a holder that has read the ledger, has looked whether it still holds the lock,
// and is about to write. It goes on when it is told.
type intent struct {
	Token   fence.Token
	Balance int64 // as it was read
}

// outcome is said by a holder at its end.
type outcome struct {
	Stale *fence.StaleError // the refusal of the write, if it was one
	Wrote bool              // the write was acknowledged
	Over  bool              // the lock told, if only afterwards, that it had been lost
	Err   string            // everything that went wrong
}

const holderTTL = time.Second

func beHolder(text string) {
	var do task
	check(json.Unmarshal([]byte(text), &do))
	ledger, err := do.Place.open()
	check(err)
	client, err := redlock.Open(do.Masters, redlock.WithTTL(holderTTL), redlock.WithRequestTimeout(requestTimeout))
	check(err)

	say, hear := json.NewEncoder(os.Stdout), bufio.NewReader(os.Stdin)
	var end outcome
	err = client.Do(context.Background(), do.Place.Account, func(ctx context.Context, token fence.Token) error {
		ctx = fence.WithToken(ctx, token)
		balance, err := ledger.read(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		check(say.Encode(intent{token, balance}))
		_, err = hear.ReadString('\n')
		check(err)
		// It has looked at the lock, just before. That it was stopped since, for however long, is
		// nothing that it could know.
		err = ledger.book(context.WithoutCancel(ctx), do.Entry, balance+do.Entry)
		end.Wrote = err == nil
		return err
	})
	end.Over = errors.Is(err, redlock.ErrExpired) || errors.Is(err, redlock.ErrLost)
	if errors.Is(err, fence.ErrStale) {
		errors.As(err, &end.Stale)
	}
	if err != nil {
		end.Err = err.Error()
	}
	check(say.Encode(end))
	check(errors.Join(client.Close(), ledger.Close()))
}

// check ends a holder that cannot go on; the test hears nothing more from it, and its standard
// error is the test's.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
