package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// clients are the client processes of a round.
type clients struct {
	setup
	world   *world
	log     history.Log
	stores  []work.Store
	options []redlock.Option
	output  io.Writer

	mu    sync.Mutex
	live  []*process // by number; nil: killed, or not started
	lives []int
	all   sync.WaitGroup
	errs  []error
}

var _ fault.Processes = (*clients)(nil)

func newClients(s setup, w *world, log history.Log, options []redlock.Option, output io.Writer) *clients {
	return &clients{
		setup: s, world: w, log: log, stores: newStores(s.seed), options: options, output: output,
		live: make([]*process, s.clients), lives: make([]int, s.clients),
	}
}

func (c *clients) Stop(name string) error     { return c.do(name, (*process).stop) }
func (c *clients) Continue(name string) error { return c.do(name, (*process).goOn) }

func (c *clients) do(name string, what func(*process)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.number(name)
	if err == nil && c.live[i] != nil {
		what(c.live[i])
	}
	return err
}

func (c *clients) Kill(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.number(name)
	if err == nil && c.live[i] != nil {
		c.live[i].kill()
		c.live[i] = nil
	}
	return err
}

func (c *clients) Restart(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.number(name)
	if err != nil || c.live[i] != nil {
		return err
	}
	c.lives[i]++
	p := newProcess(c.log)
	w := work.NewProcess(work.Settings{
		Number: i, Life: c.lives[i], Seed: c.seed, Workers: c.workers, Names: c.lockNames(),
		TTL: c.ttl, MaxTTL: c.maxTTL, Patience: c.patience(), Reads: c.reads, Sets: c.sets,
	}, p)
	var stores []work.Store
	for _, s := range c.stores {
		stores = append(stores, reaches{s, p})
	}
	var masters []redis.UniversalClient
	for _, n := range c.list(i) {
		o := c.world.masters[n].options()
		o.Dialer = p.dialer(c.world.fronts[name][n].listener.Dial)
		masters = append(masters, redis.NewClient(o))
	}
	client, err := redlock.New(masters, append(slices.Clone(c.options),
		redlock.WithTTL(c.ttl), redlock.WithMaxTTL(c.maxTTL), redlock.WithRequestTimeout(c.request),
		redlock.WithWaitForSetup(), // the operator restores the deployment
		redlock.WithObserver(c.observer(name, w)))...)
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	c.live[i] = p
	c.all.Go(func() {
		defer close(p.ended)
		w.Run(p.ctx, client, stores)
		err := client.Close()
		w.Wait()
		for _, m := range masters {
			err = errors.Join(err, m.Close())
		}
		if p.runs(nil) { // a killed process must have no effects
			c.mu.Lock()
			defer c.mu.Unlock()
			c.errs = append(c.errs, err)
		}
	})
	return nil
}

// observer returns an Observer that prints the client's events about the masters.
func (c *clients) observer(name string, w *work.Process) redlock.Observer {
	printf := func(format string, args ...any) {
		fmt.Fprintf(c.output, "%9.3fs %s: %s\n", c.log.Now().Seconds(), name, fmt.Sprintf(format, args...))
	}
	return redlock.Observer{
		Renewed:        w.Renewed,
		MasterDown:     func(m redlock.MasterStatus) { printf("%s is down: %v", m.Master, m.Err) },
		MasterUp:       func(m redlock.MasterStatus) { printf("%s is up", m.Master) },
		NotAMember:     func(m redlock.MasterStatus) { printf("%s does not vote: %v", m.Master, m.Err) },
		VersionLearned: func(t redlock.TableVersion) { printf("the members are of version %d", t.Version) },
		MemberChanged:  func(m redlock.MemberTransition) { printf("%s was %s, and is %s", m.Address, m.From, m.To) },
	}
}

// number returns the number of the client. The caller must hold mu.
func (c *clients) number(name string) (int, error) {
	if i := slices.Index(c.clientNames(), name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("sim: there is no client %q", name)
}

// end ends all clients, and returns the names of the clients that took longer than the given time.
func (c *clients) end(within time.Duration) (late []string, err error) {
	c.mu.Lock()
	live := slices.Clone(c.live)
	c.mu.Unlock()
	for _, p := range live {
		if p != nil {
			p.cancel()
		}
	}
	patience, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for i, p := range live {
		if p == nil {
			continue
		}
		select {
		case <-p.ended:
		case <-patience.Done():
			late = append(late, c.clientNames()[i])
		}
	}
	for _, p := range live {
		if p != nil {
			p.kill()
		}
	}
	c.all.Wait()
	return late, errors.Join(c.errs...)
}
