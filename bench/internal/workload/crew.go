package workload

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/exclusion"
	"github.com/redlock-go/redlock/bench/internal/usage"
)

const (
	rehearsal       = 20 * time.Second
	pauseToRehearse = 10 * time.Millisecond
)

// crew is the workers of one process, with their clients connected.
type crew struct {
	order
	clients []contender.Client
	check   *exclusion.Check // if contended
}

// assemble opens the clients and has each worker take a lock of its own once, so that connections,
// sessions and scripts are there.
func assemble(o order) (*crew, error) {
	c := &crew{order: o}
	n := 1
	if o.ClientEach {
		n = o.Workers
	}
	for range n {
		client, err := contender.ByName(o.Contender).Open(o.Addrs)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.clients = append(c.clients, client)
	}
	if o.Contended {
		var err error
		if c.check, err = exclusion.Open(o.Page); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if o.Waiting {
		return c, nil
	}
	var wg sync.WaitGroup
	errs := make([]error, o.Workers)
	for i := range o.Workers {
		wg.Go(func() { errs[i] = c.rehearse(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil { // one will do: they are mostly alike
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (c *crew) client(worker int) contender.Client { return c.clients[worker%len(c.clients)] }

// own is the name that only this worker takes.
func (c *crew) own(worker int) string { return fmt.Sprintf("%s-%d", c.Contender, c.First+worker) }

// rehearse tries until it works: servers refuse connections when many come at once.
func (c *crew) rehearse(worker int) error {
	ctx, cancel := context.WithTimeout(context.Background(), rehearsal)
	defer cancel()
	for {
		held, err := c.client(worker).Lock(ctx, c.own(worker), true)
		if err == nil {
			err = held.Unlock(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(pauseToRehearse)
	}
}

// Close closes the clients.
func (c *crew) Close() error {
	var errs []error
	for _, client := range c.clients {
		errs = append(errs, client.Close())
	}
	if c.check != nil {
		errs = append(errs, c.check.Close())
	}
	return errors.Join(errs...)
}

// work has all workers take locks until the window is over, and returns what was measured in it.
func (c *crew) work(w window) sample {
	ctx, cancel := context.WithTimeout(context.Background(), w.drainedBy())
	defer cancel()
	var all sample
	var mu sync.Mutex
	var wg sync.WaitGroup
	wg.Go(func() {
		cpu, mallocs := costs(w)
		mu.Lock()
		defer mu.Unlock()
		all.CPU, all.Mallocs = cpu, mallocs
	})
	loop := c.distinct
	switch {
	case c.Contended:
		loop = c.contend
	case c.Waiting:
		loop = c.wait
	}
	for i := range c.Workers {
		wg.Go(func() {
			mine := loop(ctx, i, w)
			mu.Lock()
			defer mu.Unlock()
			all.add(mine)
		})
	}
	wg.Wait()
	return all
}

// costs is what this process used in the window.
func costs(w window) (cpu time.Duration, mallocs uint64) {
	read := func() (time.Duration, uint64) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return usage.Self(), m.Mallocs
	}
	w.awaitBegin()
	cpuBefore, mallocsBefore := read()
	w.awaitEnd()
	cpuAfter, mallocsAfter := read()
	return cpuAfter - cpuBefore, mallocsAfter - mallocsBefore
}
