package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// The pieces of docs/migrate/rueidislock.md that call rueidislock. They are compiled, and not run.
var (
	client *redlock.Client
	locker rueidislock.Locker

	payOld func(context.Context) error
	pay    func(context.Context, fence.Token) error
)

var _ = func(ctx context.Context) error {
	// shown: migrate/rueidislock.md
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{"10.0.0.1:6379"}},
		KeyMajority:  1,
	})
	if err != nil {
		return err
	}
	defer locker.Close()
	ctx, cancel, err := locker.WithContext(ctx, "payroll")
	if err != nil {
		return err
	}
	defer cancel()
	return payOld(ctx)
	// end
}

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
