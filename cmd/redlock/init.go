package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// initConfig is redlock init, as the arguments ask for it.
type initConfig struct {
	deployment
	Floor fence.Token `placeholder:"N" help:"Every token to come is above N."`
	Yes   bool        `help:"Do it: it is right now. Without, tell what would be done, and do nothing."`
}

// Help is the long part of the help.
func (*initConfig) Help() string {
	return `Or raise the fencing counters of a deployment that is in use. All masters must answer. Every counter goes to the highest of all masters', of the Unix time in ms, and of --floor, and all masters may vote at once. Counters that are missing or corrupt, and a note of who may vote that is, are written anew.

Without --yes it tells what state each master is in and what would be done to it.

New masters need no init: the first client that reaches them all founds them. Nor does a minority that lost its data, which comes back by itself.

Nobody can tell but you whether it is right now:

  - No lock may be held any more. Wait for the longest ttl (--max-ttl)
    after the loss, or see to it that no holder runs.
  - The tokens must go on above all that were handed out. They do, with the
    time for a floor, unless there were more than 1000 a second over the
    whole life of the deployment; then give the highest token that your
    stores have seen.
` + statusHelp(
		statusRow{exitOK, "done; without --yes, it could be done"},
		statusRow{exitUsage, "bad input, nothing was done"},
		statusRow{exitNotObtained, "not done, a master does not answer or cannot be used"},
	)
}

func (cfg *initConfig) check() error {
	return cfg.deployment.check(false)
}

// run is redlock init.
func (cfg *initConfig) run() int {
	client, err := redlock.Open(cfg.Masters, cfg.options()...)
	if err != nil {
		complain(err)
		return exitUsage
	}
	defer client.Close()
	if cfg.Yes {
		err = client.Init(context.Background(), cfg.Floor)
	} else {
		err = cfg.tell(client)
	}
	if err != nil {
		complain(fmt.Errorf("not done: %w", err))
		if errors.Is(err, redlock.ErrBadOption) {
			return exitUsage
		}
		return exitNotObtained
	}
	if !cfg.Yes {
		return exitOK
	}
	above := "the Unix time in ms"
	if cfg.Floor > 0 {
		above += fmt.Sprintf(" and above %d", cfg.Floor)
	}
	fmt.Printf("%s may vote, and every token to come is above %s\n", counted(len(cfg.Masters), "master"), above)
	return exitOK
}

// tell prints what Init would do.
func (cfg *initConfig) tell(client *redlock.Client) error {
	plan, err := client.PlanInit(context.Background(), cfg.Floor)
	for _, m := range plan.Masters {
		switch {
		case m.Err != nil:
			fmt.Printf("%s: cannot be used: %s\n", m.Master, oneLine(m.Err))
		default:
			fmt.Printf("%s: %s; %d of %s missing or corrupt\n", m.Master, m.State, m.Lost, counted(m.Counters, "counter"))
		}
	}
	if err != nil {
		return err
	}
	fmt.Printf("With --yes, every counter goes to the highest of all masters', and to %d at least, and %s may vote at once. Locks that are held are not waited for. Nothing was done.\n",
		plan.AtLeast, counted(len(plan.Masters), "master"))
	return nil
}
