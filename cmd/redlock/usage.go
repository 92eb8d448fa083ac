package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `redlock holds a lock on a quorum of independent Redis masters.

  redlock run --masters URL,URL,… --name NAME -- COMMAND …
            run a command while holding the lock
  redlock demo
            see it work, and what the fencing token is for
  redlock init --masters URL,URL,… --yes
            let masters vote again after a majority of them lost its data
  redlock version
  redlock help run
  redlock help demo
  redlock help init
            all flags and exit statuses
`

const runUsage = `redlock run [flags] --masters URL,URL,… --name NAME [--] COMMAND [ARG…]

Runs COMMAND while holding the lock NAME, and returns its exit status. COMMAND
finds REDLOCK_NAME and REDLOCK_TOKEN in its environment: hand the token to the
stores that COMMAND writes to, and let them refuse lower ones.

  --masters URLS  the Redis masters, as redis://user:password@host:port/db,
                  rediss:// or unix://, with commas between them, or --masters
                  again for each; a comma in a password is %2C. Without it
                  REDLOCK_MASTERS is read, which keeps passwords out of the
                  list of processes; COMMAND does not get it. Every contender
                  must name the same ones.
  --embedded      five masters inside this process instead, for a try; prints
                  their URLs
  --name NAME     what to lock
  --prefix NAME   what all keys begin with. Default redlock
  --max-ttl TIME  the longest --ttl and --grace together of any client. Every
                  contender must have the same --prefix and --max-ttl, as
                  WithPrefix and WithMaxTTL say in Go. Default 1m
  --wait TIME     how long to wait for the lock, such as 1m; 0 or less
                  tries once. Default: until it is there. After 3s, and then
                  more and more seldom, stderr tells what it waits for
  --ttl TIME      how long the masters keep the lock when this process is gone
                  without a word. It is renewed at a third of it, and lost when
                  that has failed for the whole of it. Default 30s
  --grace TIME    how long COMMAND may take to stop when the lock was lost, see
                  below. Default 5s
  --verbose       tell of votes, renewals and masters on stderr

Exit status
  64        bad input, nothing was done
  69        --embedded could not start its masters
  75        the lock was not obtained, because another holds it or no quorum of
            masters answers; COMMAND was not run
  76        the lock was lost before COMMAND had ended; COMMAND was stopped
  126, 127  COMMAND cannot be run, is not found
  128 + N   signal N ended COMMAND, or the wait for the lock
  other     COMMAND's own

Signals
  COMMAND runs in a process group of its own. INT, TERM, HUP, QUIT, USR1, USR2
  and WINCH are passed on to the group. The lock is held until COMMAND has
  ended; what it leaves in the background is not waited for.
  On a terminal the group is the foreground, so a pager in the same pipeline
  cannot read keys: give redlock </dev/null then. Ctrl-Z stops redlock too, and
  the lock is lost after --ttl.
  A SIGKILL for redlock ends COMMAND as well, but not what COMMAND has started
  (on Linux; elsewhere nothing).
  A COMMAND that changes its user, such as sudo, cannot be signalled, nor
  stopped when the lock is lost: put sudo before redlock.

When the lock is lost
  It is when it could not be renewed for --ttl. The group gets SIGTERM at once,
  and SIGKILL before anybody else can have the lock: the masters keep it for
  --ttl and --grace after the last renewal, and redlock believes in it for --ttl
  less 1 % and 2ms. SIGKILL comes --grace after that, less a tenth of it (at
  most 500ms, or a fiftieth if that is more), for clocks that differ and for
  processes to end. --ttl and --grace together are at most --max-ttl, as masters
  that may have forgotten locks sit out for so long.
  There is no such time, and SIGKILL comes at once, when the masters say that
  another has the lock (somebody deleted ours), and when redlock itself did not
  run meanwhile (a suspended machine, SIGSTOP). What COMMAND did until then only
  a store that compares tokens can refuse.
`

const demoUsage = `redlock demo [flags]

Five masters, and five workers that increment one ledger under one lock. Masters
are killed, frozen and brought back, and holders are paused past their lease.
The ledger refuses writes with an old fencing token; a second one, without a
fence, shows what is lost otherwise. At the end a verdict is computed from what
was recorded.

  --real           real redis-server processes instead of masters inside this
                   process
  --duration TIME  default 15s, at least 3s
  --seed N         of all that is random in the demo itself; default: by the
                   time
  --json           print only the verdict, for scripts
  --report FILE    write a timeline of it all too, as one HTML file to be opened
                   in a browser

Exit status: 0 if every check of the verdict holds, 1 if not, 64 bad input,
69 masters cannot be started, 130 interrupted (128 + the signal).
NO_COLOR is respected. Without a terminal of 60 x 20 there is a line for each
event.
`

// help prints what is asked for to stdout.
func help(args []string) int {
	topic := ""
	if len(args) > 0 {
		topic = args[0]
	}
	switch topic {
	case "":
		fmt.Print(usage)
	case "run":
		fmt.Print(runUsage)
	case "demo":
		fmt.Print(demoUsage)
	case "init":
		fmt.Print(initUsage)
	default:
		complain(fmt.Errorf("no help on %q: ask for run, demo or init", topic))
		return exitUsage
	}
	return exitOK
}

// parseFlags reads args into fs. The flag package's own messages are not used:
// they come with a list of flags, which hides the line that matters.
func parseFlags(fs *flag.FlagSet, args []string) error {
	fs.SetOutput(io.Discard)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return errHelp
	case err != nil:
		return fmt.Errorf("%w (redlock help %s tells all flags)", err, fs.Name())
	}
	return nil
}

// badInput ends a command whose arguments could not be used.
func badInput(err error, text string) int {
	if errors.Is(err, errHelp) {
		fmt.Fprint(os.Stdout, text)
		return exitOK
	}
	complain(err)
	return exitUsage
}
