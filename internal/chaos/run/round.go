//go:build unix

package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/operator"
	"github.com/redlock-go/redlock/internal/chaos/play"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// round is one round, from the start of its masters to its verdict.
type round struct {
	Config
	scenario Scenario
	number   int
	seed     uint64
	phases   play.Phases
	faults   fault.Schedule
	binaries binaries
	stores   *stores
	dir      string

	out     *history.Writer
	cluster *cluster.Cluster
	members *operator.Operator
	clients *clients
	found   []check.Violation // violations that package check does not find
}

// run runs the round, and judges it. An error means that the round could not be run as planned.
func (r *round) run(ctx context.Context) (v check.Verdict, err error) {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return v, fmt.Errorf("chaos: %w", err)
	}
	r.out, err = history.Create(filepath.Join(r.dir, "harness"+history.Ext), history.StartClock())
	if err != nil {
		return v, err
	}
	r.cluster, err = cluster.Start(ctx, cluster.Config{
		Engine: r.Engine, N: masterCount + spareCount, Fsync: r.scenario.Fsync, Clients: clientNames(), Log: r.Log,
	})
	if err != nil {
		return v, errors.Join(err, r.out.Close())
	}
	err = r.play(ctx)
	err = errors.Join(err, r.clients.end(endTime), r.cluster.Close(), r.out.Close())
	if err != nil {
		return v, err
	}
	events, err := history.NewReader(r.dir).Read()
	if err != nil {
		return v, err
	}
	v = check.All(events, r.bounds())
	v.Violations = append(v.Violations, r.found...)
	v.Violations = append(v.Violations, unserved(events, r.scenario.Serves)...)
	return v, nil
}

func (r *round) play(ctx context.Context) error {
	r.clients = newClients(clientCount, r.binaries.client, r.dir, r.out.Clock(), r.options)
	r.members = &operator.Operator{
		Masters: r.cluster.Masters(), Founders: masterCount, MaxTTL: maxTTL, Patience: quarantine + 5*time.Second, Open: open, Log: r.Log,
	}
	if err := errors.Join(r.misset(), r.welcome(ctx)); err != nil {
		return err
	}
	var err error
	r.found, err = (&play.Round{
		Env: &fault.Env{
			World: r.cluster, Processes: r.clients, Operator: r.members, Patience: quarantine + 6*time.Second,
			Names: lockNames(r.number), Emit: r.out.Write,
			Register: script.RegisterKey(limits.DefaultPrefix),
		},
		Operator: r.members, Faults: r.faults, Phases: r.phases, Recovery: r.bounds().Recovery, Names: lockNames(r.number), Lists: r.scenario.always,
		Story: r.Scenario != "", Soon: r.Scenario != "", Log: r.out, Events: history.NewReader(r.dir).Read, Output: r.Log,
	}).Play(ctx)
	if made, want := r.members.Counts().Made, r.scenario.Changes; made < want && ctx.Err() == nil {
		r.find(check.Members, "%d changes of the members were made, want %d at least", made, want)
	}
	return errors.Join(err, r.clients.failed())
}

// find adds a violation that package check does not find.
func (r *round) find(rule, format string, args ...any) {
	r.found = append(r.found, check.Violation{Rule: rule, At: r.out.Clock().Now(), Text: fmt.Sprintf(format, args...)})
}

// open returns an operator's client.
func open(masters []cluster.Master) (*redlock.Client, error) {
	return openPrefix(masters, limits.DefaultPrefix)
}

func openPrefix(masters []cluster.Master, prefix string) (*redlock.Client, error) {
	var urls []string
	for _, m := range masters {
		urls = append(urls, "redis://"+m.Addr())
	}
	return redlock.Open(urls, redlock.WithTTL(ttl), redlock.WithMaxTTL(maxTTL), redlock.WithRequestTimeout(requestTimeout), redlock.WithPrefix(prefix))
}

// welcome founds a deployment for each Stranger, and sets the clients' password if the scenario has passwords.
func (r *round) welcome(ctx context.Context) error {
	masters := r.cluster.Masters()
	for _, s := range r.scenario.Strangers {
		client, err := openPrefix(masters[s.Master:s.Master+1], cmp.Or(s.Prefix, limits.DefaultPrefix))
		if err != nil {
			return err
		}
		if err := errors.Join(admin.Init(ctx, client, 0), client.Close()); err != nil {
			return fmt.Errorf("chaos: founding a stranger: %w", err)
		}
	}
	if !r.scenario.Passwords {
		return nil
	}
	for _, m := range masters {
		if err := fault.SetPasswords(m, fault.Old); err != nil {
			return err
		}
	}
	return nil
}

// misset sets the clocks of masters wrong before the first phase, as the scenario requires.
func (r *round) misset() error {
	for n, ahead := range r.scenario.Clocks {
		m := r.cluster.Masters()[n]
		if err := m.SetClock(ahead); err != nil {
			return err
		}
		r.out.Write(history.Event{Kind: history.MasterClock, Master: m.Name(), Offset: ahead})
	}
	return nil
}

// options returns the command-line arguments of a client.
func (r *round) options(number, life int) []string {
	var masters []string
	for _, n := range r.scenario.list(number, life) {
		masters = append(masters, r.cluster.Masters()[n].Addr()+"="+r.cluster.Front(clientName(number))[n].Addr())
	}
	options := []string{
		"-seed", fmt.Sprint(r.seed),
		"-workers", fmt.Sprint(workers),
		"-reads", fmt.Sprint(reads),
		"-sets", fmt.Sprint(sets),
		"-masters", strings.Join(masters, ","),
		"-names", strings.Join(lockNames(r.number), ","),
		"-ttl", ttl.String(),
		"-max-ttl", maxTTL.String(),
		"-request-timeout", requestTimeout.String(),
		"-patience", patience.String(),
		"-redis", r.stores.redisURL(),
		"-postgres", r.stores.databaseSource(),
	}
	if r.scenario.Passwords {
		password := fault.OldPassword
		if life > 1 {
			password = fault.NewPassword
		}
		options = append(options, "-user", fault.User, "-password", password)
	}
	return options
}
