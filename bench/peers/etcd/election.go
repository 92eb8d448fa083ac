package main

import (
	"context"
	"errors"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/redlock-go/redlock/bench/internal/failover"
)

// elector is a candidate of etcd's concurrency.Election. Each campaign has a session of its own.
type elector struct {
	etcd  *clientv3.Client
	order failover.Order

	mu   sync.Mutex
	term *term // nil before the first
}

// term is one time of leading.
type term struct {
	election *concurrency.Election
	end      context.CancelFunc // of the work
	worked   chan struct{}      // closed when the work has returned
}

func openElector(o failover.Order) (failover.Elector, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: o.Addrs, DialTimeout: o.TTL, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &elector{etcd: etcd, order: o}, nil
}

// Run campaigns no more after Resign.
func (e *elector) Run(work func(ctx context.Context, token uint64)) error {
	for {
		session, err := concurrency.NewSession(e.etcd, concurrency.WithTTL(int(e.order.TTL.Seconds())))
		if err != nil {
			return err
		}
		election := concurrency.NewElection(session, "/bench/"+e.order.Election)
		if err := election.Campaign(session.Ctx(), "candidate"); err == nil {
			e.lead(election, session.Ctx(), work)
		} else if session.Ctx().Err() == nil {
			return err
		}
		if session.Ctx().Err() == nil {
			select {} // it resigned, and stays away
		}
	}
}

// lead works for one term. Its token is the revision with which its campaign began: leaders are
// elected in that order.
func (e *elector) lead(election *concurrency.Election, lease context.Context, work func(context.Context, uint64)) {
	ctx, end := context.WithCancel(lease)
	defer end()
	t := &term{election, end, make(chan struct{})}
	defer close(t.worked)
	e.mu.Lock()
	e.term = t
	e.mu.Unlock()
	work(ctx, uint64(election.Rev()))
}

func (e *elector) Resign() error {
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil {
		return errors.New("it does not lead")
	}
	t.end()
	<-t.worked
	return t.election.Resign(context.Background())
}
