package main

import (
	"context"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// The pieces of docs/migrate/rueidislock.md that call rueidislock. They are compiled, and not run.
var (
	client *redlock.Client
	locker rueidislock.Locker
	pay    func(context.Context, fence.Token) error
)

var _ = func(ctx context.Context) error {
	// shown: migrate/rueidislock.md
	ctx, cancel, err := locker.WithContext(ctx, "payroll")
	if err != nil {
		return err
	}
	defer cancel()
	return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	// end
}
