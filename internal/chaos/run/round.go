//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// round is one round, from the start of its masters to its verdict.
type round struct {
	Config
	number   int
	seed     uint64
	phases   phases
	faults   fault.Schedule
	binaries binaries
	stores   *stores
	dir      string

	began   time.Time
	out     *history.Writer
	cluster *cluster.Cluster
	clients *clients
	env     *fault.Env
}

// smallDisk is room for what a master writes in a round, and little enough to fill.
const smallDisk = 32 << 20

// run runs the round, and judges it. An error says that it could not be run as it
// should have been.
func (r *round) run(ctx context.Context) (events []history.Event, v check.Verdict, err error) {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, v, fmt.Errorf("chaos: %w", err)
	}
	r.began = time.Now()
	r.out, err = history.Create(filepath.Join(r.dir, "harness"+history.Ext), history.StartClock())
	if err != nil {
		return nil, v, err
	}
	r.cluster, err = cluster.Start(ctx, cluster.Config{
		Engine: r.Engine, N: masterCount, Clients: clientNames(), SmallDisk: smallDisk,
		Expire: 10*time.Minute + r.phases.total(), Log: r.Log,
	})
	if err != nil {
		return nil, v, errors.Join(err, r.out.Close())
	}
	err = r.play(ctx)
	err = errors.Join(err, r.clients.end(), r.cluster.Close(), r.out.Close())
	if err != nil {
		return nil, v, err
	}
	events, err = history.NewReader(r.dir).Read()
	if err != nil {
		return nil, v, err
	}
	return events, check.All(events, r.bounds()), nil
}

// play starts the clients and takes them through the phases.
func (r *round) play(ctx context.Context) error {
	r.clients = newClients(clientCount, r.binaries.client, r.dir, r.out.Clock(), r.options)
	r.env = &fault.Env{Cluster: r.cluster, Processes: r.clients, Emit: r.out.Write}
	for _, name := range clientNames() {
		r.out.Write(history.Event{Kind: history.ClientStarts, Client: name})
		if err := r.clients.Restart(name); err != nil {
			return err
		}
	}
	stop := r.showProgress(ctx)
	defer stop()

	r.out.Write(history.Event{Kind: history.PhaseBegins, Phase: history.InModel})
	r.harm(ctx, before(r.faults, r.phases.inModel), r.phases.inModel)
	r.out.Write(history.Event{Kind: history.PhaseBegins, Phase: history.OutOfModel})
	r.harm(ctx, from(r.faults, r.phases.inModel), r.phases.outOfModel)
	if err := fault.HealAll(ctx, r.env); err != nil {
		return err
	}
	r.out.Write(history.Event{Kind: history.PhaseBegins, Phase: history.Healed})
	if err := r.operate(ctx); err != nil {
		return err
	}
	sleep(ctx, r.phases.healed)
	return errors.Join(ctx.Err(), r.clients.failed())
}

// harm lets the faults happen, and returns when the phase is over and they are
// healed. What could not be done is said: the machine may lack something, or be too
// busy; the round is then poorer, and no less right.
func (r *round) harm(ctx context.Context, s fault.Schedule, phase time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, phase)
	defer cancel()
	err := s.Run(ctx, r.env)
	<-ctx.Done()
	if err != nil {
		fmt.Fprintf(r.Log, "chaos: faults that could not be as they should: %v\n", err)
	}
}

// operate is what the operator does after all is healed: when a majority of masters
// lost its counters, which only happens outside of the fault model, nothing else
// makes the deployment usable again. That they did is known when they have sat out
// their quarantine.
func (r *round) operate(ctx context.Context) error {
	var urls []string
	for _, m := range r.cluster.Masters() {
		urls = append(urls, "redis://"+m.Addr())
	}
	client, err := redlock.Open(urls, redlock.WithTTL(ttl), redlock.WithMaxTTL(maxTTL), redlock.WithRequestTimeout(requestTimeout))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for end := time.Now().Add(quarantine); ; sleep(ctx, 200*time.Millisecond) {
		lock, err := client.TryLock(ctx, "operator")
		switch {
		case err == nil:
			return lock.Unlock(ctx)
		case errors.Is(err, redlock.ErrNeedsInit):
			fmt.Fprintf(r.Log, "chaos: a majority of masters lost its counters: redlock init\n")
			return client.Init(ctx, 0)
		case ctx.Err() != nil || time.Now().After(end):
			fmt.Fprintf(r.Log, "chaos: not lockable after all was healed: %v\n", err)
			return nil // the clients will tell whether it comes to be
		}
	}
}

// options are what a client is started with.
func (r *round) options(number int) []string {
	var masters []string
	for _, front := range r.cluster.Front(clientName(number)) {
		masters = append(masters, front.URL())
	}
	return []string{
		"-seed", fmt.Sprint(r.seed),
		"-workers", fmt.Sprint(workers),
		"-masters", strings.Join(masters, ","),
		"-names", strings.Join(lockNames(r.number), ","),
		"-ttl", ttl.String(),
		"-max-ttl", maxTTL.String(),
		"-request-timeout", requestTimeout.String(),
		"-patience", patience.String(),
		"-redis", r.stores.redisURL(),
		"-postgres", r.stores.databaseSource(),
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
