//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	members *operator
	clients *clients
	env     *fault.Env
	healed  time.Duration     // when all faults had ended, on the run's clock
	found   []check.Violation // that the history does not tell
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
		Engine: r.Engine, N: masterCount + spareCount, Fsync: r.scenario().fsync(), Clients: clientNames(), SmallDisk: smallDisk,
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
	v = check.All(events, r.bounds())
	v.Violations = append(v.Violations, r.found...)
	return events, v, nil
}

// play founds the deployment, starts the clients and takes them through the phases.
func (r *round) play(ctx context.Context) error {
	r.clients = newClients(clientCount, r.binaries.client, r.dir, r.out.Clock(), r.options)
	r.members = &operator{masters: r.cluster.Masters(), log: r.Log}
	r.env = &fault.Env{Cluster: r.cluster, Processes: r.clients, Operator: r.members, Emit: r.out.Write}
	if err := r.misset(); err != nil {
		return err
	}
	if err := r.members.found(ctx); err != nil {
		return fmt.Errorf("chaos: founding the deployment: %w", err)
	}
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
	r.healed = r.out.Clock().Now()
	if err := r.operate(ctx); err != nil {
		return err
	}
	r.recover(ctx, r.phases.healed-(r.out.Clock().Now()-r.healed))
	return errors.Join(ctx.Err(), r.clients.failed())
}

// recover waits for so long; in a scenario, only until every name was locked again, and by
// every client something. Who locked nothing by the end did not recover.
func (r *round) recover(ctx context.Context, d time.Duration) {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if r.scenario() == nil {
		<-over.Done()
	}
	since, locked := r.healed, map[string]bool{}
	for reader := history.NewReader(r.dir); ; sleep(over, 100*time.Millisecond) {
		events, err := reader.Read()
		if err != nil {
			return // the round reads it again, and says so
		}
		for _, e := range events {
			if e.Kind == history.LockHeld && e.At > since && (slices.Contains(lockNames(r.number), e.Name) || !locked[e.Client]) {
				locked[e.Name], locked[e.Client] = true, true
			}
		}
		if over.Err() != nil || r.recovered(locked) {
			break
		}
	}
	for _, client := range clientNames() {
		if !locked[client] && ctx.Err() == nil {
			r.found = append(r.found, check.Violation{
				Rule: check.Recovery, At: r.out.Clock().Now(),
				Text: fmt.Sprintf("all faults ended at %v, and %s locked nothing in the %v since", since.Round(time.Millisecond), client, d.Round(time.Second)),
			})
		}
	}
}

// recovered reports whether these, which were locked or did lock, are all names and clients.
func (r *round) recovered(locked map[string]bool) bool {
	missing := func(name string) bool { return !locked[name] }
	return !slices.ContainsFunc(slices.Concat(lockNames(r.number), clientNames()), missing)
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
		if r.scenario() != nil && !errors.Is(err, errors.ErrUnsupported) {
			r.found = append(r.found, check.Violation{Rule: check.Members, At: r.out.Clock().Now(), Text: err.Error()})
		}
	}
}

// operate is what the operator does after all is healed. When a majority of the members
// lost its data, which only happens outside of the fault model, nothing else makes the
// deployment usable again. Then the founders become the members again: no change that was
// left half-way hinders that.
func (r *round) operate(ctx context.Context) error {
	var founders []string
	for _, m := range r.cluster.Masters()[:masterCount] {
		founders = append(founders, m.Addr())
	}
	if err := r.members.Init(ctx, founders); err != nil {
		fmt.Fprintf(r.Log, "chaos: after all was healed: %v\n", err) // the clients will tell whether it is lockable
	}
	if err := r.members.restore(ctx, r.bounds().Recovery); err != nil {
		r.found = append(r.found, check.Violation{
			Rule: check.Members, At: r.out.Clock().Now(),
			Text: fmt.Sprintf("all faults ended, and within %v the members did not become the founders: %v", r.bounds().Recovery, err),
		})
	}
	m := r.members
	fmt.Fprintf(r.Log, "chaos: round %d: changes of the members: %d made, %d refused, %d operators killed; %d inits by force\n",
		r.number, m.done, m.refused, m.unending, m.inits)
	return nil
}

// misset sets the clocks of masters wrong before anything happens, as the scenario wants
// it.
func (r *round) misset() error {
	for n, ahead := range r.scenario().clocks() {
		m := r.cluster.Masters()[n]
		if err := m.SetClock(ahead); err != nil {
			return err
		}
		r.out.Write(history.Event{Kind: history.MasterClock, Master: m.Name(), Offset: ahead})
	}
	return nil
}

// options are what a client is started with.
func (r *round) options(number int) []string {
	var masters []string
	for _, n := range r.scenario().list(number) {
		masters = append(masters, r.cluster.Masters()[n].Addr()+"="+r.cluster.Front(clientName(number))[n].Addr())
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
