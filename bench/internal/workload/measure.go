package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/exclusion"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
)

// Cell is one measurement of one contender under one workload. What is "a pair" is for each lock
// and unlock.
type Cell struct {
	PerSecond   float64         `json:"perSecond"` // pairs, or holds if contended
	Pair        stats.Quantiles `json:"pair"`      // lock and unlock, hold included
	Wait        stats.Quantiles `json:"wait"`      // from call to hold
	Handover    stats.Quantiles `json:"handover"`  // from release to the next hold, if contended
	Evenness    float64         `json:"evenness"`  // the worker with the fewest over the one with the most
	ClientCPU   time.Duration   `json:"clientCPU"` // a pair
	ServerCPU   time.Duration   `json:"serverCPU"` // a pair, of all servers together
	Scripts     time.Duration   `json:"scripts"`   // a pair, see server.Used
	Allocs      float64         `json:"allocs"`    // a pair
	ClientCores float64         `json:"clientCores"`
	ServerCores float64         `json:"serverCores"` // of all servers together
	Calls       float64         `json:"calls"`       // of scripts, a second, on all servers together
	Failed      int             `json:"failed"`      // calls that ended in an error
	FirstErr    string          `json:"firstError,omitempty"`
}

// Measure measures one cell. A violation of exclusion or of the tokens' order is an error, and so
// is a cell in which nothing was had. The workers are part of the program, which is this one or, in
// processes of their own, a peer's.
func Measure(w Workload, c contender.Contender, program string, on *server.Running, length time.Duration) (Cell, error) {
	page, err := os.CreateTemp("", "bench-exclusion-")
	if err != nil {
		return Cell{}, err
	}
	defer os.Remove(page.Name())
	if err := page.Close(); err != nil {
		return Cell{}, err
	}
	o := order{
		Contender: c.Name, Addrs: on.Addrs, Workers: w.Workers, Contended: w.Contended,
		ClientEach: w.Layout == ClientEach, Hold: w.Hold, Page: page.Name(),
	}
	runtime.GC()
	if w.Held > 0 {
		return measureHeld(w, o, program, on)
	}
	s, used, err := measure(w, o, program, length, on)
	if err == nil && s.held() == 0 {
		err = fmt.Errorf("no lock was had in %v; %d errors, the first: %s", length, s.Failed, s.FirstErr)
	}
	if w.Contended {
		err = errors.Join(err, verdict(o.Page))
	}
	if err != nil {
		return Cell{}, err
	}
	return cellOf(s, used, length), nil
}

func cellOf(s sample, used server.Used, length time.Duration) Cell {
	cell := Cell{
		Pair:        stats.QuantilesOf(s.Pairs),
		Wait:        stats.QuantilesOf(s.Waits),
		Handover:    stats.QuantilesOf(s.Handovers),
		Evenness:    stats.Evenness(s.Counts),
		ClientCores: s.CPU.Seconds() / length.Seconds(),
		ServerCores: used.CPU.Seconds() / length.Seconds(),
		Calls:       float64(used.Calls) / length.Seconds(),
		Failed:      s.Failed,
		FirstErr:    s.FirstErr,
	}
	if n := s.held(); n > 0 {
		cell.PerSecond = float64(n) / length.Seconds()
		cell.ClientCPU = s.CPU / time.Duration(n)
		cell.ServerCPU = used.CPU / time.Duration(n)
		cell.Scripts = used.Scripts / time.Duration(n)
		cell.Allocs = float64(s.Mallocs) / float64(n)
	}
	return cell
}

func verdict(page string) error {
	check, err := exclusion.Open(page)
	if err != nil {
		return err
	}
	return errors.Join(check.Err(), check.Close())
}

// warmUp of a cell of this length.
func warmUp(length time.Duration) time.Duration {
	return min(max(length/5, 200*time.Millisecond), time.Second)
}

// watch returns what gives the servers' use in the window, once it is over.
func watch(w window, on *server.Running) func() server.Used {
	all := make(chan server.Used, 1)
	go func() {
		w.awaitBegin()
		before := on.Used()
		w.awaitEnd()
		all <- on.Used().Sub(before)
	}()
	return func() server.Used { return <-all }
}

func measure(w Workload, o order, program string, length time.Duration, on *server.Running) (sample, server.Used, error) {
	switch {
	case w.Layout == Processes:
		return inProcesses(processes, o, program, warmUp(length), length, on)
	case program != reexec.Self:
		return inProcesses(1, o, program, warmUp(length), length, on)
	}
	return here(o, length, on)
}

// here measures with all workers in this process.
func here(o order, length time.Duration, on *server.Running) (sample, server.Used, error) {
	c, err := assemble(o)
	if err != nil {
		return sample{}, server.Used{}, err
	}
	w := opens(warmUp(length), length)
	servers := watch(w, on)
	s := c.work(w)
	return s, servers(), c.Close()
}

// WorkerRole is a process with some of the workers.
const WorkerRole = "worker"

// Worker plays WorkerRole: it takes an order, answers when its clients are connected, takes a
// window and answers with a sample.
func Worker(in *json.Decoder, out *json.Encoder) error {
	var o order
	if err := in.Decode(&o); err != nil {
		return err
	}
	c, err := assemble(o)
	if err != nil {
		return err
	}
	if err := out.Encode("ready"); err != nil {
		return err
	}
	var w window
	if err := in.Decode(&w); err != nil {
		return err
	}
	return errors.Join(out.Encode(c.work(w)), c.Close())
}

// inProcesses measures with the workers spread over so many processes.
func inProcesses(processes int, o order, program string, warmUp, length time.Duration, on *server.Running) (all sample, servers server.Used, err error) {
	var children []*reexec.Child
	defer func() {
		for _, child := range children {
			err = errors.Join(err, child.Stop())
		}
	}()
	o.Workers /= processes
	for i := range processes {
		child, err := reexec.Start(program, WorkerRole)
		if err != nil {
			return all, server.Used{}, err
		}
		children = append(children, child)
		o.First = i * o.Workers
		if err := child.Tell(o); err != nil {
			return all, server.Used{}, err
		}
	}
	for _, child := range children {
		var ready string
		if err := child.Hear(&ready); err != nil {
			return all, server.Used{}, fmt.Errorf("a worker process did not get ready: %w", err)
		}
	}
	w := opens(warmUp, length)
	watched := watch(w, on)
	samples, errs := make([]sample, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i, child := range children {
		wg.Go(func() { errs[i] = errors.Join(child.Tell(w), child.Hear(&samples[i])) })
	}
	wg.Wait()
	for _, s := range samples {
		all.add(s)
	}
	return all, watched(), errors.Join(errs...)
}
