package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/clock"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// WorkerRole is the role of a process that has some of the workers, and one client.
const WorkerRole = "worker"

// order is the part of a cell that one process runs.
type order struct {
	Contender string
	Addrs     []string
	First     int // the number of its first worker
	Workers   int
	Contended bool
	Hold      time.Duration
}

// window is the time, by clock.Now, in which pairs count. The time before the window is for warming up.
type window struct{ From, Until int64 }

func opens(warmUp, length time.Duration) window {
	from := clock.Now() + int64(warmUp)
	return window{from, from + int64(length)}
}

func (w window) has(t int64) bool    { return w.From < t && t <= w.Until }
func (w window) left() time.Duration { return time.Duration(w.Until - clock.Now()) }

// cost waits for the end of the window. It returns how much the result of used() has grown in the window.
func (w window) cost(used func() time.Duration) time.Duration {
	time.Sleep(time.Duration(w.From - clock.Now()))
	before := used()
	time.Sleep(w.left())
	return used() - before
}

// sample is what one process measured within the window.
type sample struct {
	Pairs    []time.Duration // of lock and unlock, hold included
	Waits    []time.Duration // from call to hold
	Holds    []hold          // only if contended; also the holds before and after the window
	Counts   []int           // pairs, by worker
	Failed   int             // calls that ended in an error
	FirstErr string
	CPU      time.Duration
	Mallocs  uint64
}

// hold is a period, by clock.Now, in which a worker held the contended name.
type hold struct {
	From, Until int64
	Token       uint64
}

func (s *sample) add(more sample) {
	s.Pairs = append(s.Pairs, more.Pairs...)
	s.Waits = append(s.Waits, more.Waits...)
	s.Holds = append(s.Holds, more.Holds...)
	s.Counts = append(s.Counts, more.Counts...)
	s.Failed += more.Failed
	if s.FirstErr == "" {
		s.FirstErr = more.FirstErr
	}
	s.CPU += more.CPU
	s.Mallocs += more.Mallocs
}

func (s *sample) fail(err error) {
	s.Failed++
	if s.FirstErr == "" {
		s.FirstErr = err.Error()
	}
}

// Worker runs WorkerRole: it receives an order, answers when its client is connected, receives a window,
// and answers with a sample.
func Worker(in *json.Decoder, out *json.Encoder) error {
	var o order
	if err := in.Decode(&o); err != nil {
		return err
	}
	client, err := contender.ByName(o.Contender).Open(o.Addrs)
	if err != nil {
		return err
	}
	var w window
	if err = o.rehearse(client); err == nil {
		err = errors.Join(out.Encode("ready"), in.Decode(&w))
	}
	if err != nil {
		return errors.Join(err, client.Close())
	}
	return errors.Join(out.Encode(o.work(client, w)), client.Close())
}

// Roles are the roles of child processes of a benchmark.
var Roles = map[string]child.Role{WorkerRole: Worker}

// own returns the name that only this worker locks.
func (o order) own(worker int) string { return fmt.Sprintf("%s-%d", o.Contender, o.First+worker) }

// rehearse makes each worker lock its own name once, so that connections, sessions and scripts
// exist. It retries until it succeeds: servers refuse connections when many come at once.
func (o order) rehearse(client contender.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	errs := make([]error, o.Workers)
	var wg sync.WaitGroup
	for i := range o.Workers {
		wg.Go(func() {
			for {
				held, err := client.Lock(ctx, o.own(i), true)
				if err == nil {
					err = held.Unlock(ctx)
				}
				if errs[i] = err; err == nil || ctx.Err() != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil { // one error is enough: mostly all are alike
			return err
		}
	}
	return nil
}

// work makes all workers acquire locks until the window is over, and returns the samples of the window.
func (o order) work(client contender.Client, w window) (all sample) {
	const drain = 20 * time.Second // for workers that still wait at the end
	ctx, cancel := context.WithTimeout(context.Background(), w.left()+drain)
	defer cancel()
	loop := o.distinct
	if o.Contended {
		loop = o.contend
	}
	samples := make([]sample, o.Workers+1)
	var wg sync.WaitGroup
	wg.Go(func() {
		var before, after runtime.MemStats
		mallocs := &before
		samples[o.Workers].CPU = w.cost(func() time.Duration {
			runtime.ReadMemStats(mallocs)
			mallocs = &after
			return server.CPU(os.Getpid())
		})
		samples[o.Workers].Mallocs = after.Mallocs - before.Mallocs
	})
	for i := range o.Workers {
		wg.Go(func() { samples[i] = loop(ctx, client, i, w) })
	}
	wg.Wait()
	for _, s := range samples {
		all.add(s)
	}
	return all
}

// afterError is the pause of a worker after a failed call, so that it does not spin.
const afterError = time.Millisecond

// distinct acquires and releases the worker's own name. A pair counts if it ends in the window, whenever it
// began. So a slow pair counts as much as a quick one.
func (o order) distinct(ctx context.Context, client contender.Client, worker int, w window) sample {
	s := sample{Counts: []int{0}}
	name := o.own(worker)
	for {
		called := clock.Now()
		if called > w.Until {
			return s
		}
		held, err := client.Lock(ctx, name, false)
		acquired := clock.Now()
		if err == nil {
			err = held.Unlock(ctx)
		}
		freed := clock.Now()
		switch {
		case err == nil && w.has(freed):
			s.Counts[0]++
			s.Waits = append(s.Waits, time.Duration(acquired-called))
			s.Pairs = append(s.Pairs, time.Duration(freed-called))
		case w.has(freed):
			s.fail(err)
		}
		if err != nil {
			time.Sleep(afterError)
		}
	}
}

// contend acquires the shared name, holds it and releases it. A worker that waits when the window ends is
// still served: otherwise the longest waits would be missing. Only holds that begin in the window are pairs.
func (o order) contend(ctx context.Context, client contender.Client, _ int, w window) sample {
	s := sample{Counts: []int{0}}
	for {
		called := clock.Now()
		if called > w.Until || ctx.Err() != nil {
			return s
		}
		held, err := client.Lock(ctx, o.Contender+"-shared", true)
		if err != nil {
			s.fail(err)
			time.Sleep(afterError)
			continue
		}
		acquired := clock.Now()
		clock.SleepUntil(acquired + int64(o.Hold))
		s.Holds = append(s.Holds, hold{acquired, clock.Now(), held.Token()})
		if err := held.Unlock(ctx); err != nil {
			s.fail(err)
		}
		if acquired > w.From {
			s.Waits = append(s.Waits, time.Duration(acquired-called))
		}
		if w.has(acquired) {
			s.Counts[0]++
			s.Pairs = append(s.Pairs, time.Duration(clock.Now()-called))
		}
	}
}
