package leaderelection

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// The pieces of docs/migrate/leaderelection.md that call client-go. They are compiled, and not run.
var (
	client *redlock.Client
	lock   resourcelock.Interface

	schedule func(context.Context, fence.Token) error
)

var _ = func(ctx context.Context) error {
	// shown: migrate/leaderelection.md
	elector, err := leader.New(client, "scheduler", leader.WithLock(redlock.WithTTL(15*time.Second)))
	if err != nil {
		return err
	}
	terms := make(chan context.Context, 1)
	old, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) { terms <- term },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		old.Run(ctx)
	}()
	select {
	case term := <-terms:
		return elector.Run(term, schedule) // returns when the old term is over, and schedule has returned
	case <-over:
		return ctx.Err() // it never led
	}
	// end
}
