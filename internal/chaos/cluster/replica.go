package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// replica is a server that follows a master, and may replace it.
type replica struct {
	server
	at place
}

// follow starts a replica of the master on addr, and returns when the replica has all data, also on disk.
func follow(ctx context.Context, e engine, at place, addr string) (*replica, error) {
	s, err := e.launch(at)
	if err != nil {
		return nil, err
	}
	r := &replica{server: s, at: at}
	host, port, _ := strings.Cut(addr, ":")
	if _, err = do(ctx, r.addr(), "replicaof", host, port); err == nil {
		err = r.awaitSync(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.remove())
	}
	return r, nil
}

func (r *replica) awaitSync(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := do(ctx, r.addr(), "info", "replication", "persistence")
		if err != nil {
			return err
		}
		text := fmt.Sprint(info)
		if strings.Contains(text, "master_link_status:up") &&
			strings.Contains(text, "aof_rewrite_in_progress:0") && strings.Contains(text, "aof_rewrite_scheduled:0") {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave ends the replication. It can be called again.
func (r *replica) leave() error {
	_, err := do(context.Background(), r.addr(), "replicaof", "no", "one")
	return err
}

func (m *master) ReplicaOf(leader Master) error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	host, port := "no", "one"
	if leader != nil {
		host, port, _ = strings.Cut(leader.Addr(), ":")
		if _, err := leader.Do(ctx, "config", "set", "repl-diskless-sync-delay", 0); err != nil {
			return fmt.Errorf("cluster: config to %s: %w", leader.Name(), err)
		}
	}
	for {
		_, err := m.Do(ctx, "replicaof", host, port)
		if err == nil {
			return nil
		}
		if !strings.HasPrefix(err.Error(), "LOADING") { // the replica is loading its leader's data, which takes a moment
			return fmt.Errorf("cluster: replicaof to %s: %w", m.name, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("cluster: replicaof to %s: %w", m.name, err)
		}
	}
}

// take makes the replica a master on another port, which must be free.
func (r *replica) take(port string) error {
	if err := r.leave(); err != nil {
		return err
	}
	_, err := do(context.Background(), r.addr(), "config", "set", "port", port)
	return err
}
