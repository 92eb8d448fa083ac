package leaderelection

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// The pieces of docs/migrate/leaderelection.md that call client-go. They are compiled, and not run.
var (
	client *redlock.Client
	kube   kubernetes.Interface
	lock   resourcelock.Interface

	scheduleOld func(context.Context)
	schedule    func(context.Context, fence.Token) error
)

var _ = func(ctx context.Context) {
	schedule := scheduleOld
	// shown: migrate/leaderelection.md
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "scheduler", Namespace: "jobs"},
			Client:     kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "scheduler-1"},
		},
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { schedule(ctx) },
			OnStoppedLeading: func() { /* the process ends, as a rule */ },
		},
	})
	// end
}

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
