package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
)

const (
	// watchEvery is the interval at which --watch reads the status.
	watchEvery = time.Second

	// mostNames is the most names that are listed when no --name is given.
	mostNames = 1000
	// fewNames is the most names that --watch prints.
	fewNames = 8
)

// statusConfig holds the arguments of redlock status.
type statusConfig struct {
	deployment
	Names []string `name:"name" sep:"none" placeholder:"NAME" help:"Show the holder of this name; may be repeated. Default: list the names that are taken."`
	Watch bool     `help:"Look every second until a signal comes, and print again after each change."`
	JSON  bool     `name:"json" help:"Print one JSON object. With --watch, print one on a line after each change."`
}

func (cfg *statusConfig) check() error {
	errs := []error{cfg.deployment.check()}
	for _, name := range cfg.Names {
		errs = append(errs, checkName(name))
	}
	return errors.Join(errs...)
}

// checkName reports what is wrong with the name of a lock.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("--name is missing: it must name the lock")
	case len(name) > limits.MaxNameLen:
		return fmt.Errorf("invalid --name of %d bytes: must be at most %d", len(name), limits.MaxNameLen)
	}
	return nil
}

func (cfg *statusConfig) run() int {
	client, err := cfg.open()
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	if cfg.Watch {
		return cfg.watch(client)
	}
	s := cfg.look(context.Background(), client)
	if cfg.JSON {
		printJSON(stdout, jsonOfStatus(s))
	} else {
		printStatus(stdout, s, false)
	}
	if s.incomplete() {
		return exitUnavailable
	}
	return exitOK
}

// watch prints the status at each change, until a signal comes.
func (cfg *statusConfig) watch(client *redlock.Client) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	w := &watcher{json: cfg.JSON, out: stdout}
	for {
		s := cfg.look(ctx, client)
		if ctx.Err() != nil {
			return exitOK
		}
		w.show(s)
		if stdout.err != nil || !sleep(ctx, watchEvery) { // further output would be lost
			return exitOK
		}
	}
}

// status is the state of the masters and locks at one time.
type status struct {
	at         time.Time
	members    admin.Membership
	membersErr error
	locks      []lockStatus
	names      admin.NameList
	namesErr   error
	listed     bool // whether to list names
}

type lockStatus struct {
	in  admin.Inspection
	err error
}

// look returns the status. It sends all requests at once, so that a master that hangs costs only one timeout.
func (cfg *statusConfig) look(ctx context.Context, client *redlock.Client) status {
	s := status{at: time.Now(), locks: make([]lockStatus, len(cfg.Names)), listed: len(cfg.Names) == 0}
	var asked sync.WaitGroup
	asked.Go(func() { s.members, s.membersErr = admin.Members(ctx, client) })
	for i, name := range cfg.Names {
		asked.Go(func() {
			s.locks[i].in, s.locks[i].err = admin.Inspect(ctx, client, name)
			s.locks[i].in.Name = name // also on an error
		})
	}
	if s.listed {
		asked.Go(func() { s.names, s.namesErr = admin.Names(ctx, client, mostNames) })
	}
	asked.Wait()
	return s
}

// incomplete reports whether members or locks had no quorum of answers.
func (s status) incomplete() bool {
	return s.membersErr != nil || slices.ContainsFunc(s.locks, func(l lockStatus) bool { return l.err != nil })
}
