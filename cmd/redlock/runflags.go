package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
)

// defaultGrace is enough for most commands to clean up, and short beside the
// default ttl.
const defaultGrace = 5 * time.Second

// forever is the wait that was not asked for.
const forever time.Duration = math.MaxInt64

// runConfig is what the arguments of run ask for.
type runConfig struct {
	masters  []string
	embedded bool
	deployment
	name    string
	ttl     time.Duration
	grace   time.Duration
	wait    time.Duration // at or below 0: try once
	verbose bool
	command []string // with its arguments
}

// parseRun reads the arguments and reports all that is wrong with them.
func parseRun(args []string) (runConfig, error) {
	cfg := runConfig{wait: forever}
	var given []string
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.Func("masters", "", func(s string) error { given = append(given, s); return nil })
	fs.BoolVar(&cfg.embedded, "embedded", false, "")
	cfg.deployment.flags(fs)
	fs.StringVar(&cfg.name, "name", "", "")
	fs.DurationVar(&cfg.ttl, "ttl", redlock.DefaultTTL, "")
	fs.DurationVar(&cfg.grace, "grace", defaultGrace, "")
	fs.DurationVar(&cfg.wait, "wait", forever, "")
	fs.BoolVar(&cfg.verbose, "verbose", false, "")
	if err := parseFlags(fs, args); err != nil {
		return cfg, err
	}
	cfg.command = fs.Args()

	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	var err error
	cfg.masters, err = mastersFrom(given, cfg.embedded)
	errs = append(errs, err)
	refuse(cfg.name == "", "--name is missing: it must name the lock")
	refuse(len(cfg.name) > redlock.MaxNameLen, "--name is %d bytes long: it must be at most %d", len(cfg.name), redlock.MaxNameLen)
	refuse(cfg.ttl <= redlock.DefaultRequestTimeout,
		"--ttl is %v: it must be above %v, the time that a master may take to answer", cfg.ttl, redlock.DefaultRequestTimeout)
	refuse(cfg.grace < 0, "--grace is %v: it must not be negative", cfg.grace)
	errs = append(errs, cfg.deployment.check())
	refuse(cfg.ttl > cfg.maxTTL || cfg.grace > cfg.maxTTL-cfg.ttl,
		"--ttl is %v and --grace %v: together they must be at most --max-ttl, %v", cfg.ttl, cfg.grace, cfg.maxTTL)
	refuse(len(cfg.command) == 0, "command is missing: it must follow the flags, as in redlock run … -- make deploy")
	return cfg, errors.Join(errs...)
}

// deployment is what all clients of the same masters must agree on.
type deployment struct {
	prefix string
	maxTTL time.Duration
}

func (d *deployment) flags(fs *flag.FlagSet) {
	fs.StringVar(&d.prefix, "prefix", redlock.DefaultPrefix, "")
	fs.DurationVar(&d.maxTTL, "max-ttl", redlock.DefaultMaxTTL, "")
}

// check reports what is wrong, in the words of flags.
func (d *deployment) check() error {
	var errs []error
	if d.prefix == "" || strings.ContainsAny(d.prefix, "{}") {
		errs = append(errs, fmt.Errorf("--prefix is %q: it must not be empty or contain a brace", d.prefix))
	}
	if d.maxTTL <= redlock.DefaultRequestTimeout {
		errs = append(errs, fmt.Errorf("--max-ttl is %v: it must be above %v, the time that a master may take to answer", d.maxTTL, redlock.DefaultRequestTimeout))
	}
	return errors.Join(errs...)
}

func (d *deployment) options() []redlock.Option {
	return []redlock.Option{redlock.WithPrefix(d.prefix), redlock.WithMaxTTL(d.maxTTL)}
}

// mastersVariable has the URLs of the masters when no flag gives them.
const mastersVariable = "REDLOCK_MASTERS"

// mastersFrom returns the URLs that the flags give, or else the environment.
func mastersFrom(given []string, embedded bool) ([]string, error) {
	from := "--masters"
	if embedded {
		if len(given) > 0 {
			return nil, errors.New("--masters and --embedded are both given: it must be one of them")
		}
		return nil, nil
	}
	if len(given) == 0 {
		from = mastersVariable
		if env := os.Getenv(from); env != "" {
			given = []string{env}
		}
	}
	if len(given) == 0 {
		return nil, errors.New("--masters is missing, and so is REDLOCK_MASTERS: give the URLs of all masters with commas between them, or --embedded for a try")
	}
	urls := strings.Split(strings.Join(given, ","), ",")
	for i := range urls {
		urls[i] = strings.TrimSpace(urls[i])
		if urls[i] == "" {
			return nil, fmt.Errorf("%s has nothing at place %d: it must be a URL such as redis://host:6379", from, i+1)
		}
	}
	return urls, nil
}
