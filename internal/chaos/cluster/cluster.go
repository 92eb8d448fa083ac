package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/redlock-go/redlock/internal/faultproxy"
)

// Cluster has masters, and the fronts (proxies) through which clients reach the masters. All methods may be called at
// any time and from several goroutines.
type Cluster struct {
	folder  string // with all files
	engine  engine
	kind    Engine
	fsync   Fsync
	masters []*master
	clients []string
	fronts  map[string][]*faultproxy.Proxy

	closeOnce sync.Once
	closeErr  error
}

// Start starts the masters and returns once all serve. The caller must call Close.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "redlock-masters-")
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // a server in a container runs as another user
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c := &Cluster{
		folder:  folder,
		fsync:   cfg.Fsync,
		clients: cfg.Clients,
		fronts:  map[string][]*faultproxy.Proxy{},
	}
	c.engine, c.kind, err = choose(ctx, folder, cfg)
	if err == nil {
		err = c.startMasters(cfg)
	}
	if err == nil {
		err = c.startFronts()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) startMasters(cfg Config) error {
	masters := make([]*master, cfg.N)
	errs := make([]error, cfg.N)
	var wg sync.WaitGroup
	for i := range cfg.N {
		name := fmt.Sprintf("m%d", i)
		wg.Go(func() { masters[i], errs[i] = newMaster(filepath.Join(c.folder, name), name, c.engine, cfg.Fsync) })
	}
	wg.Wait()
	for _, m := range masters {
		if m != nil {
			c.masters = append(c.masters, m)
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) startFronts() error {
	for _, client := range c.clients {
		for _, m := range c.masters {
			p, err := faultproxy.New(m.Addr())
			if err != nil {
				return err
			}
			c.fronts[client] = append(c.fronts[client], p)
		}
	}
	return nil
}

// Engine returns the engine of the masters: Docker or Process.
func (c *Cluster) Engine() Engine { return c.kind }

// Fsync returns the masters' Fsync.
func (c *Cluster) Fsync() Fsync { return c.fsync }

// Masters returns all masters, "m0" first.
func (c *Cluster) Masters() []Master {
	all := make([]Master, len(c.masters))
	for i, m := range c.masters {
		all[i] = m
	}
	return all
}

// Clients returns the names of Config.Clients.
func (c *Cluster) Clients() []string { return c.clients }

// Front returns the client's own proxies to the masters, in the masters' order. It returns nil if Config.Clients does
// not name the client.
func (c *Cluster) Front(client string) []*faultproxy.Proxy { return c.fronts[client] }

// Close ends all processes and removes the data. It can be called again.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		c.closeErr = errors.Join(c.closeAll(), os.RemoveAll(c.folder))
	})
	return c.closeErr
}

func (c *Cluster) closeAll() error {
	var errs []error
	for _, fronts := range c.fronts {
		for _, p := range fronts {
			errs = append(errs, p.Close())
		}
	}
	ended := make([]error, len(c.masters))
	var wg sync.WaitGroup
	for i, m := range c.masters {
		wg.Go(func() { ended[i] = m.close() })
	}
	wg.Wait()
	errs = append(errs, ended...)
	if c.engine != nil {
		errs = append(errs, c.engine.close())
	}
	return errors.Join(errs...)
}
