package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

const initUsage = `redlock init [flags] --masters URL,URL,… --yes

Lets masters vote again after a majority of them lost its data, or raises the
fencing counters of a deployment that is in use. All masters must answer. Every
counter goes to the highest of all masters', of the Unix time in ms, and of
--floor, and all masters may vote at once.

New masters need no init: the first client that reaches them all founds them.
Nor does a minority that lost its data, which comes back by itself.

Nobody can tell but you whether it is right now:
  - No lock may be held any more. Wait for the longest ttl (--max-ttl) after
    the loss, or see to it that no holder runs.
  - The tokens must go on above all that were handed out. They do, with the time
    for a floor, unless there were more than 1000 a second over the whole life
    of the deployment; then give the highest token that your stores have seen.

  --masters URLS  as for redlock run; or REDLOCK_MASTERS
  --prefix, --max-ttl
                  as the deployment's clients have them, see redlock help run
  --floor N       every token to come is above N
  --yes           it is right now

Exit status: 0 done, 64 bad input, nothing was done; 75 not done, a master does
not answer or cannot be used.
`

// initCommand is redlock init.
func initCommand(args []string) int {
	var given []string
	var floor fence.Token
	var yes bool
	var of deployment
	fs := flag.NewFlagSet("init", flag.ContinueOnError)
	fs.Func("masters", "", func(s string) error { given = append(given, s); return nil })
	fs.Func("floor", "", func(s string) (err error) { floor, err = fence.Parse(s); return err })
	fs.BoolVar(&yes, "yes", false, "")
	of.flags(fs)
	if err := parseFlags(fs, args); err != nil {
		return badInput(err, initUsage)
	}
	masters, err := mastersFrom(given, false)
	var errs []error
	if fs.NArg() > 0 {
		errs = append(errs, errors.New("there is an argument after the flags: init takes flags only")) // not shown: it may be a URL with a password
	}
	if !yes {
		errs = append(errs, errors.New("--yes is missing: read redlock help init first"))
	}
	if err := errors.Join(append(errs, of.check(), err)...); err != nil {
		return badInput(err, initUsage)
	}
	client, err := redlock.Open(masters, of.options()...)
	if err != nil {
		return badInput(err, initUsage)
	}
	defer client.Close()
	if err := client.Init(context.Background(), floor); err != nil {
		complain(fmt.Errorf("not done: %w", err))
		if errors.Is(err, redlock.ErrBadOption) {
			return exitUsage
		}
		return exitNotObtained
	}
	above := "the Unix time in ms"
	if floor > 0 {
		above += fmt.Sprintf(" and above %d", floor)
	}
	fmt.Printf("%s may vote, and every token to come is above %s\n", counted(len(masters), "master"), above)
	return exitOK
}
