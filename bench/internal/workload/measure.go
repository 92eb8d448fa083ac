package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// Cell is one measurement of one contender under one workload. A pair is one call of Lock and one of
// Unlock.
type Cell struct {
	Pairs, PerSecond float64       // contended: pairs whose hold began in the window; otherwise: pairs that ended in it
	PairP50, PairP99 time.Duration // lock and unlock, hold included
	WaitP50, WaitP99 time.Duration // from call to hold
	Evenness         float64       // the fewest pairs of a worker divided by the most pairs of a worker
	ClientCPU        time.Duration // for a pair
	ServerCPU        time.Duration // for a pair, of all servers together
	Allocs           float64       // for a pair
	Failed           int           // calls that ended in an error
	FirstErr         string
}

// Err returns an error if calls failed.
func (c Cell) Err() error {
	if c.Failed == 0 {
		return nil
	}
	return fmt.Errorf("%d calls failed, the first: %s", c.Failed, c.FirstErr)
}

// ErrViolated is returned if exclusion was violated.
var ErrViolated = errors.New("VIOLATION")

// Measure measures one cell. A violation of exclusion or of the tokens' order is an error, and so is a cell in which
// no lock was acquired. The workers run in child processes of the given program.
func Measure(w Workload, c contender.Contender, program string, on *server.Running, length time.Duration) (Cell, error) {
	o := order{Contender: c.Name, Addrs: on.Addrs, Contended: w.Contended, Hold: w.Hold}
	s, cpu, err := inProcesses(w, o, program, on, length)
	if err == nil && len(s.Pairs) == 0 {
		err = fmt.Errorf("no lock was had in %v; %d errors, the first: %s", length, s.Failed, s.FirstErr)
	}
	if err := errors.Join(err, exclusive(s.Holds)); err != nil {
		return Cell{}, err
	}
	n := len(s.Pairs)
	cell := Cell{
		Pairs: float64(n), PerSecond: float64(n) / length.Seconds(),
		PairP50: Quantile(s.Pairs, .5), PairP99: Quantile(s.Pairs, .99),
		WaitP50: Quantile(s.Waits, .5), WaitP99: Quantile(s.Waits, .99),
		Evenness:  float64(slices.Min(s.Counts)) / float64(slices.Max(s.Counts)),
		ClientCPU: s.CPU / time.Duration(n), ServerCPU: cpu / time.Duration(n),
		Allocs: float64(s.Mallocs) / float64(n),
		Failed: s.Failed, FirstErr: s.FirstErr,
	}
	return cell, nil
}

// Quantile sorts d. It returns the smallest element e of d for which at least the share q of the elements is at
// most e, or 0 if d is empty.
func Quantile[T cmp.Ordered](d []T, q float64) T {
	if len(d) == 0 {
		return *new(T)
	}
	slices.Sort(d)
	return d[max(int(math.Ceil(q*float64(len(d))))-1, 0)]
}

// exclusive returns an error if two holds overlap, or if tokens do not grow. The token 0 means that there is none.
func exclusive(holds []hold) error {
	slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.From, b.From) })
	var overlaps, stale int
	var before hold
	for _, h := range holds {
		if h.From < before.Until {
			overlaps++
		}
		if h.Token != 0 && h.Token <= before.Token {
			stale++
		}
		before = hold{h.From, max(before.Until, h.Until), h.Token}
	}
	if overlaps+stale == 0 {
		return nil
	}
	return fmt.Errorf("%w: of %d holds %d began while another lasted, and %d tokens did not grow", ErrViolated, len(holds), overlaps, stale)
}

// inProcesses measures with the workers distributed over the processes.
func inProcesses(w Workload, o order, program string, on *server.Running, length time.Duration) (all sample, serverCPU time.Duration, err error) {
	processes := max(w.Processes, 1)
	children := make([]*child.Process, processes)
	defer func() {
		for _, p := range children {
			if p != nil {
				err = errors.Join(err, p.Stop())
			}
		}
	}()
	o.Workers = w.Workers / processes
	for i := range children {
		o.First = i * o.Workers
		if children[i], err = child.Start(program, WorkerRole); err != nil {
			return all, 0, err
		}
		if err := children[i].Send(o); err != nil {
			return all, 0, err
		}
	}
	for _, p := range children {
		var ready string
		if err := p.Receive(&ready); err != nil {
			return all, 0, fmt.Errorf("a worker process did not get ready: %w", err)
		}
	}
	warmUp := min(max(length/5, 200*time.Millisecond), time.Second)
	counts := opens(warmUp, length)
	samples, errs := make([]sample, processes), make([]error, processes)
	var wg sync.WaitGroup
	for i, p := range children {
		wg.Go(func() { errs[i] = errors.Join(p.Send(counts), p.Receive(&samples[i])) })
	}
	serverCPU = counts.cost(on.CPU)
	wg.Wait()
	for _, s := range samples {
		all.add(s)
	}
	return all, serverCPU, errors.Join(errs...)
}
