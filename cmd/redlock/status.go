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
	// watchEvery is how often --watch looks.
	watchEvery = time.Second

	// mostNames bounds the names that are listed when none is given.
	mostNames = 1000
)

// statusConfig is redlock status, as the arguments ask for it.
type statusConfig struct {
	deployment
	Names []string `name:"name" sep:"none" placeholder:"NAME" help:"Tell who holds this name; may be given again for each. Default: list the names that are taken."`
	Watch bool     `help:"Look every second until a signal comes, and print what there is at each change."`
	JSON  bool     `name:"json" help:"As one JSON object. With --watch one a line, at each change."`
}

// Help is the long part of the help.
func (*statusConfig) Help() string {
	return `Prints the members, as redlock members does, and who holds each NAME: the program's name for itself, its process and host, since when by that host's clock, the fencing token, the depth (entries that are not unlocked), how long the masters keep the lock if nobody renews it, and how many clients wait. It prints what more than half of the members say; where a master says something else, also that. It changes no lock. Do not decide by it whether a lock is held: see redlock verify. With --watch it also brings back a member that lost its data, as any client does that keeps running.

Without --name it lists the names that one voting master has as taken, at most ` + fmt.Sprint(mostNames) + ` of the first 100000 keys. Locks that this master did not grant are missing.

Examples:

  redlock status --masters redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3
  redlock status --name nightly --name backup --watch
  redlock status --name nightly --json | jq -r '.locks[0].holder.host'

--json prints one object:

  time     when, by this machine's clock
  members  the object of redlock members --json, without error; null if it is not
           known
  error    why it is not known, or ""
  locks    an array, of each NAME: name; error, why too few masters answered, or
           ""; need, how many members decide; what they agree on: state, owner,
           since, holder, token, depth, remainingMillis, waiting, readers; and masters,
           an array of what each said: master, its address; error, why that
           does not count, or ""; grant; and the same as of the quorum
  names    without --name: master, whose they are; names; more, whether there
           may be others; error. With --name null

  In a name, U+FFFD replaces each byte that is not UTF-8. Without --json such
  a byte is printed as \xNN. --name takes the byte itself.

  state    held, free, read, lingers (its holder left it, and it stays taken),
           kept (for a moment, for the one that was called), or unknown: no
           majority says the same, or the master did not say
  holder   client, its id; name, host and pid, as it told them, "" and 0 if no
           master knows. Of state kept: for whom
  since    when the holder asked for it, by its clock; "" if that is not known
  token    a string; "" if there is none or it is not known
  grant    the grant number of one master, a string
  readers  an array: owner; since; holder; remainingMillis
` + statusHelp(
		statusRow{exitOK, "told; with --watch, ended by a signal"},
		statusRow{exitUsage, "bad input"},
		statusRow{exitUnavailable, "too few masters answer, or they belong to no deployment; what is\n            known is told"},
		notPrinted,
	)
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

// run is redlock status.
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
		printStatus(stdout, s)
	}
	if s.incomplete() {
		return exitUnavailable
	}
	return exitOK
}

// watch looks again and again, until a signal comes.
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
		if stdout.err != nil || !sleep(ctx, watchEvery) { // nobody sees what would come
			return exitOK
		}
	}
}

// status is what was found at a moment.
type status struct {
	at         time.Time
	members    admin.Membership
	membersErr error
	locks      []lockStatus
	names      admin.NameList
	namesErr   error
	listed     bool // names were asked for
}

type lockStatus struct {
	in  admin.Inspection
	err error
}

// look asks for all at once: a master that hangs costs its time out only once.
func (cfg *statusConfig) look(ctx context.Context, client *redlock.Client) status {
	s := status{at: time.Now(), locks: make([]lockStatus, len(cfg.Names)), listed: len(cfg.Names) == 0}
	var asked sync.WaitGroup
	asked.Go(func() { s.members, s.membersErr = admin.Members(ctx, client) })
	for i, name := range cfg.Names {
		asked.Go(func() {
			s.locks[i].in, s.locks[i].err = admin.Inspect(ctx, client, name)
			s.locks[i].in.Name = name // also of one that cannot be asked for
		})
	}
	if s.listed {
		asked.Go(func() { s.names, s.namesErr = admin.Names(ctx, client, mostNames) })
	}
	asked.Wait()
	return s
}

// incomplete reports that no quorum answered to something.
func (s status) incomplete() bool {
	return s.membersErr != nil || slices.ContainsFunc(s.locks, func(l lockStatus) bool { return l.err != nil })
}
