package main

import (
	"context"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/redlock-go/redlock/bench/internal/contender"
)

// etcdClient locks with etcd's concurrency.Mutex. A session can hold or await a name only once, so each lock
// uses a free session, or makes one.
type etcdClient struct {
	etcd *clientv3.Client

	mu   sync.Mutex
	free []*concurrency.Session
}

func openClient(endpoints []string) (contender.Client, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: contender.TTL, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return &etcdClient{etcd: etcd}, nil
}

func (c *etcdClient) Lock(ctx context.Context, name string, wait bool) (contender.Held, error) {
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	m := concurrency.NewMutex(s, "/bench/"+name)
	ask := m.TryLock
	if wait {
		ask = m.Lock
	}
	if err := ask(ctx); err != nil {
		c.putBack(s)
		return nil, err
	}
	return &etcdHeld{c, s, m}, nil
}

func (c *etcdClient) session() (*concurrency.Session, error) {
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		defer c.mu.Unlock()
		s := c.free[n-1]
		c.free = c.free[:n-1]
		return s, nil
	}
	c.mu.Unlock()
	return concurrency.NewSession(c.etcd, concurrency.WithTTL(int(contender.TTL.Seconds())))
}

func (c *etcdClient) putBack(s *concurrency.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, s)
}

// Close leaves the sessions to expire.
func (c *etcdClient) Close() error { return c.etcd.Close() }

type etcdHeld struct {
	c *etcdClient
	s *concurrency.Session
	m *concurrency.Mutex
}

// Token returns the revision of the store when the lock was acquired.
func (h *etcdHeld) Token() uint64 { return uint64(h.m.Header().Revision) }

func (h *etcdHeld) Unlock(ctx context.Context) error {
	defer h.c.putBack(h.s)
	return h.m.Unlock(ctx)
}
