package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/limits"
)

// defaultGrace is long enough for most commands to clean up, and short compared with the default ttl.
const defaultGrace = 5 * time.Second

// runConfig holds the arguments of redlock run.
type runConfig struct {
	deployment
	MaxTTL      *time.Duration `placeholder:"TIME" help:"--ttl plus --grace is at most this, and this is at most the deployment's max ttl (redlock help init). Default: the shorter of ${max_ttl} and that max ttl."`
	Name        string         `placeholder:"NAME" help:"What to lock."`
	Wait        *time.Duration `placeholder:"TIME" help:"How long to wait for the lock, such as 1m. With 0 or less, try once. Default: until it is acquired. After 3s, then less and less often, stderr shows what redlock waits for."`
	Setup       bool           `name:"wait-for-setup" help:"Also wait while an operator must act first, for example run redlock init or grant rights. Default: fail at once."`
	TTL         *time.Duration `placeholder:"TIME" help:"How long the lock lasts without a renewal; renewals come after a third of it. The masters keep the lock for --grace longer. Default: the shorter of ${ttl} and the max ttl minus --grace."`
	Grace       *time.Duration `placeholder:"TIME" help:"How long COMMAND may take to stop after the lock was lost: see redlock help run. Default: the shorter of ${grace} and a quarter of the max ttl."`
	NotObtained int            `name:"conflict-exit-code" short:"E" placeholder:"N" default:"${not_obtained}" help:"Exit status when another holds the lock, 0 to 255, like -E of flock(1). With 0 nothing is printed, so that cron mails nothing. Default ${default}."`
	Lost        int            `name:"lost-exit-code" placeholder:"N" default:"${lost}" help:"Exit status when the lock was lost, 1 to 255. Default ${default}."`
	Verbose     bool           `help:"Print votes, renewals and states of masters on stderr."`
	Command     []string       `arg:"" optional:"" passthrough:"partial" name:"COMMAND" help:"What to run, with its arguments. Flags of redlock go before it."` // cut off before the parser: see cutCommand

	grace time.Duration // Grace, or its default: see fit()
}

func (cfg *runConfig) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	errs = append(errs, cfg.deployment.check())
	maxTTL := cfg.maxTTL()
	if err := checkMaxTTL(maxTTL); err != nil {
		errs = append(errs, err)
		maxTTL = limits.DefaultMaxTTL
	}
	cfg.fit(maxTTL)
	refuse(cfg.Name == "", "--name is missing: it must name the lock")
	refuse(cfg.Name == "" && cfg.afterCommand("--name"), flagAfterCommand, "--name")
	refuse(len(cfg.Masters) == 0 && cfg.afterCommand("--masters"), flagAfterCommand, "--masters")
	refuse(len(cfg.Name) > limits.MaxNameLen, "invalid --name of %d bytes: must be at most %d", len(cfg.Name), limits.MaxNameLen)
	refuse(cfg.grace < 0, "invalid --grace %v: must not be negative", cfg.grace)
	if cfg.TTL != nil {
		refuse(*cfg.TTL <= limits.DefaultRequestTimeout,
			"invalid --ttl %v: must be above %v, the time that a master may take to answer", cfg.TTL, limits.DefaultRequestTimeout)
		refuse(*cfg.TTL > maxTTL-cfg.grace,
			"invalid --ttl %v with --grace %v: together must be at most --max-ttl, %v", cfg.TTL, cfg.grace, maxTTL)
	}
	refuse(cfg.NotObtained < 0 || cfg.NotObtained > 255, "invalid --conflict-exit-code %d: must be from 0 to 255", cfg.NotObtained)
	refuse(cfg.Lost < 1 || cfg.Lost > 255, "invalid --lost-exit-code %d: must be from 1 to 255, since the work may have been done twice", cfg.Lost)
	refuse(len(cfg.Command) == 0, "command is missing: it must follow the flags, as in redlock run … -- make deploy")
	return errors.Join(errs...)
}

const flagAfterCommand = "%s is after COMMAND, which gets it: flags go before COMMAND"

// afterCommand reports whether a flag of redlock is among COMMAND's arguments.
func (cfg *runConfig) afterCommand(flag string) bool {
	return slices.ContainsFunc(cfg.Command, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

func runVars() kong.Vars {
	return kong.Vars{"not_obtained": fmt.Sprint(exitHeld), "lost": fmt.Sprint(exitLost)}
}

func (cfg *runConfig) maxTTL() time.Duration {
	if cfg.MaxTTL == nil {
		return limits.DefaultMaxTTL
	}
	return *cfg.MaxTTL
}

// fit sets the grace: the given one, or a default that leaves most of the max ttl for the ttl.
func (cfg *runConfig) fit(maxTTL time.Duration) {
	const leastTTL = limits.DefaultRequestTimeout + time.Millisecond
	cfg.grace = max(0, min(defaultGrace, maxTTL/4, maxTTL-leastTTL))
	if cfg.Grace != nil {
		cfg.grace = *cfg.Grace
	}
}

// options returns the options of the client, without a ttl if the library's default applies.
func (cfg *runConfig) options() []redlock.Option {
	options := []redlock.Option{redlock.WithLockDelay(cfg.grace)}
	if cfg.TTL != nil {
		options = append(options, redlock.WithTTL(*cfg.TTL))
	}
	if cfg.MaxTTL != nil {
		options = append(options, redlock.WithMaxTTL(*cfg.MaxTTL))
	}
	return options
}

// lockOptions returns the options of Lock. waited is the part of --wait that has already passed.
func (cfg *runConfig) lockOptions(waited time.Duration) []redlock.LockOption {
	options := []redlock.LockOption{redlock.WithLockDelay(cfg.grace)}
	if cfg.Wait != nil {
		options = append(options, redlock.WithWait(*cfg.Wait-waited))
	}
	if cfg.Setup {
		options = append(options, redlock.WithWaitForSetup())
	}
	return options
}

// deployment holds the flags that name the masters.
type deployment struct {
	Masters []string `sep:"none" placeholder:"URLS" help:"The Redis masters, as redis://user:password@host:port/db, rediss:// or unix://, with commas between them, or --masters again for each; a comma in a password is %2C. Default: those in REDLOCK_MASTERS. This variable keeps passwords out of the list of processes; redlock run hides it from COMMAND."`
	access
	from   string // where Masters is from: --masters or REDLOCK_MASTERS
	Prefix string `placeholder:"NAME" default:"${prefix}" help:"What all keys begin with. Another prefix is another deployment, even on the same masters. Default ${default}."`
}

// check splits the list of masters, completes each URL, and reports what is wrong with the flags.
func (d *deployment) check() error {
	var errs []error
	var err error
	if err = d.findMasters(); err != nil {
		errs = append(errs, err)
	}
	if err := d.load(); err != nil {
		errs = append(errs, err)
	} else {
		for i := range d.Masters {
			if d.Masters[i], err = d.complete(d.place(i), d.Masters[i]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if d.Prefix == "" || strings.ContainsAny(d.Prefix, "{}") {
		errs = append(errs, fmt.Errorf("invalid --prefix %q: must not be empty or contain a brace", d.Prefix))
	}
	return errors.Join(errs...)
}

// checkMaxTTL reports what is wrong with a max ttl.
func checkMaxTTL(d time.Duration) error {
	if d <= limits.DefaultRequestTimeout {
		return fmt.Errorf("invalid --max-ttl %v: must be above %v, the time that a master may take to answer", d, limits.DefaultRequestTimeout)
	}
	return nil
}

const (
	// mastersVariable has the URLs of the masters when no flag gives them.
	mastersVariable = "REDLOCK_MASTERS"

	// nameVariable and tokenVariable pass the name and the token of the lock to COMMAND.
	nameVariable  = "REDLOCK_NAME"
	tokenVariable = "REDLOCK_TOKEN"
)

// findMasters sets the masters from the flags, or else from the environment.
func (d *deployment) findMasters() error {
	given := d.Masters
	d.Masters, d.from = nil, "--masters"
	if len(given) == 0 {
		if env := os.Getenv(mastersVariable); env != "" {
			given, d.from = []string{env}, mastersVariable
		}
	}
	switch {
	case len(given) == 0 && os.Getenv(tokenVariable) != "":
		return errors.New("--masters is missing, and so is REDLOCK_MASTERS, which redlock run does not hand to its COMMAND, as it may hold passwords: give --masters and --password-file")
	case len(given) == 0:
		return errors.New("--masters is missing, and so is REDLOCK_MASTERS: give the URLs of all masters with commas between them")
	}
	urls := strings.Split(strings.Join(given, ","), ",")
	for i := range urls {
		urls[i] = strings.TrimSpace(urls[i])
		if urls[i] == "" {
			return fmt.Errorf("%s is empty: it must be a URL such as redis://host:6379", d.place(i))
		}
	}
	d.Masters = urls
	return nil
}

// openClient opens a client for the masters of the flags and for the URLs in more. Its errors name the flags.
func (d *deployment) openClient(more []string, options ...redlock.Option) (*redlock.Client, error) {
	urls := append(d.Masters[:len(d.Masters):len(d.Masters)], more...)
	client, err := redlock.Open(urls, append(options, redlock.WithPrefix(d.Prefix))...)
	return client, d.inFlags(err)
}
