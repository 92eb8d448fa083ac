package main

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// The pieces of docs/migrate/etcd.md that call etcd. They are compiled, and not run.
var (
	client  *redlock.Client
	session *concurrency.Session
	pay     func(context.Context, fence.Token) error
)

var _ = func(ctx context.Context) error {
	// shown: migrate/etcd.md
	mutex := concurrency.NewMutex(session, "/payroll")
	if err := mutex.Lock(ctx); err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session.Ctx(), func() { cancel(errors.New("the etcd session is over")) })()
	return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	// end
}
