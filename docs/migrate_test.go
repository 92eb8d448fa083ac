package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

func pay(ctx context.Context, token fence.Token) error { return ctx.Err() }

func after(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/README.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(30*time.Second), redlock.WithWait(time.Minute))
	if errors.Is(err, redlock.ErrHeld) {
		return nil // somebody else is at it
	}
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token()) // the context ends when the lock is lost
	// end
}

func TestWhatMigrationEndsWith(t *testing.T) {
	client, stop := open()
	defer stop()
	must(t, after(t.Context(), client))
}
