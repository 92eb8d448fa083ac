package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// config holds the flags that the harness passes.
type config struct {
	work.Settings
	masters  list // address=front: clients name a master by its address, and reach the master through the front
	user     string
	password string
	request  time.Duration
	stores   places
	history  string
}

// list is a flag of values with commas between them.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	*l = strings.Split(text, ",")
	return nil
}

func main() {
	var c config
	flag.IntVar(&c.Number, "number", 0, "of the client, from 0: it is called c<number>")
	flag.IntVar(&c.Life, "life", 1, "which start of the client this is, from 1")
	flag.Uint64Var(&c.Seed, "seed", 1, "of all that workers choose")
	flag.IntVar(&c.Workers, "workers", 3, "that contend at the same time")
	flag.Var(&c.masters, "masters", "address=front of each master, with commas: it is named by the address, and reached through the front")
	flag.StringVar(&c.user, "user", "", "to log in as on the masters; none if empty")
	flag.StringVar(&c.password, "password", "", "of the user")
	flag.Var((*list)(&c.Names), "names", "of the locks, with commas")
	flag.DurationVar(&c.TTL, "ttl", 400*time.Millisecond, "of a lease")
	flag.DurationVar(&c.MaxTTL, "max-ttl", time.Second, "of all leases of the deployment")
	flag.DurationVar(&c.request, "request-timeout", 100*time.Millisecond, "of one request to a master")
	flag.DurationVar(&c.Patience, "patience", 40*time.Second, "of the waiters that wait longest")
	flag.IntVar(&c.Reads, "reads", 0, "of a hundred locks, how many are for reading")
	flag.IntVar(&c.Sets, "sets", 0, "of a hundred calls for locks, how many are for several names together")
	flag.StringVar(&c.stores.redis, "redis", "", "URL of the Redis to write to")
	flag.StringVar(&c.stores.postgres, "postgres", "", "data source of the PostgreSQL to write to; none if empty")
	flag.StringVar(&c.history, "history", "", "file to write")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, c); err != nil {
		fmt.Fprintf(os.Stderr, "chaos client c%d: %v\n", c.Number, err)
		os.Exit(1)
	}
}

// run runs the workers until ctx ends.
func run(ctx context.Context, c config) error {
	clock, err := history.ParseClock(os.Getenv(history.ClockEnv))
	if err != nil {
		return err
	}
	out, err := history.Create(c.history, clock)
	if err != nil {
		return err
	}
	stores, closeStores, err := open(c.stores)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	process := work.NewProcess(c.Settings, out)
	masters, err := c.clients()
	if err != nil {
		return errors.Join(err, closeStores(), out.Close())
	}
	client, err := redlock.New(masters,
		redlock.WithTTL(c.TTL),
		redlock.WithMaxTTL(c.MaxTTL),
		redlock.WithRequestTimeout(c.request),
		redlock.WithWaitForSetup(), // the operator restores the deployment
		redlock.WithObserver(redlock.Observer{
			Renewed:    process.Renewed,
			MasterDown: func(m redlock.MasterStatus) { logf(clock, "%s is down: %v", m.Master, m.Err) },
			MasterUp:   func(m redlock.MasterStatus) { logf(clock, "%s is up", m.Master) },
			ClockJumped: func(_ context.Context, j redlock.ClockJump) {
				logf(clock, "the clock of %s jumped by %v", j.Master, j.By)
			},
		}))
	if err != nil {
		return errors.Join(err, closeStores(), out.Close())
	}

	process.Run(ctx, client, stores)
	err = client.Close()
	process.Wait()
	return errors.Join(err, closeStores(), out.Close())
}

// clients returns a Redis client for each master. The client has the address with which the deployment
// was founded, but connects through the front.
func (c config) clients() (all []redis.UniversalClient, err error) {
	for _, text := range c.masters {
		address, front, both := strings.Cut(text, "=")
		if !both {
			return nil, fmt.Errorf("master %q is no address=front", text)
		}
		all = append(all, redis.NewClient(&redis.Options{
			Addr:     address,
			Username: c.user,
			Password: c.password,
			Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
				d := net.Dialer{Timeout: c.request}
				return d.DialContext(ctx, network, front)
			},
		}))
	}
	return all, nil
}

// logf writes a line to the log of a run. No check reads this log.
func logf(clock history.Clock, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%9.3fs %s\n", clock.Now().Seconds(), fmt.Sprintf(format, args...))
}
