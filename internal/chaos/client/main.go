package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// config is what the harness wants of this process.
type config struct {
	number   int // of the client, from 0: it is called "c<number>"
	life     int // which start of that client this is, from 1
	seed     uint64
	workers  int
	masters  list // address=front: clients name a master by its address, and reach it through the front
	names    list
	ttl      time.Duration
	maxTTL   time.Duration
	request  time.Duration
	patience time.Duration
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
	flag.IntVar(&c.number, "number", 0, "of the client, from 0: it is called c<number>")
	flag.IntVar(&c.life, "life", 1, "which start of the client this is, from 1")
	flag.Uint64Var(&c.seed, "seed", 1, "of all that workers choose")
	flag.IntVar(&c.workers, "workers", 3, "that contend at the same time")
	flag.Var(&c.masters, "masters", "address=front of each master, with commas: it is named by the address, and reached through the front")
	flag.Var(&c.names, "names", "of the locks, with commas")
	flag.DurationVar(&c.ttl, "ttl", 400*time.Millisecond, "of a lease")
	flag.DurationVar(&c.maxTTL, "max-ttl", time.Second, "of all leases of the deployment")
	flag.DurationVar(&c.request, "request-timeout", 100*time.Millisecond, "of one request to a master")
	flag.DurationVar(&c.patience, "patience", 40*time.Second, "of the waiters that wait longest")
	flag.StringVar(&c.stores.redis, "redis", "", "URL of the Redis to write to")
	flag.StringVar(&c.stores.postgres, "postgres", "", "data source of the PostgreSQL to write to; none if empty")
	flag.StringVar(&c.history, "history", "", "file to write")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, c); err != nil {
		fmt.Fprintf(os.Stderr, "chaos client c%d: %v\n", c.number, err)
		os.Exit(1)
	}
}

// run lets the workers work until ctx ends.
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
	calls := newRecorder(out, c.number, c.life)
	held := &holds{calls: calls}
	masters, err := c.clients()
	if err != nil {
		return errors.Join(err, closeStores(), out.Close())
	}
	client, err := redlock.New(masters,
		redlock.WithTTL(c.ttl),
		redlock.WithMaxTTL(c.maxTTL),
		redlock.WithRequestTimeout(c.request),
		redlock.WithObserver(redlock.Observer{
			Renewed:     held.renewed,
			MasterDown:  func(master string, err error) { say(clock, "%s is down: %v", master, err) },
			MasterUp:    func(master string) { say(clock, "%s is up", master) },
			ClockJumped: func(master, name string, by time.Duration) { say(clock, "the clock of %s jumped by %v", master, by) },
		}))
	if err != nil {
		return errors.Join(err, closeStores(), out.Close())
	}

	var workers sync.WaitGroup
	for i := range c.workers {
		w := &worker{
			config:  c,
			private: fmt.Sprintf("%s-of-c%d-%d", c.names[0], c.number, i),
			client:  client,
			stores:  stores,
			calls:   calls,
			holds:   held,
			chance:  rand.New(rand.NewPCG(c.seed, uint64(c.number)<<32|uint64(c.life)<<16|uint64(i))),
		}
		workers.Go(func() { w.run(ctx) })
	}
	workers.Wait()
	err = client.Close()
	held.wait()
	return errors.Join(err, closeStores(), out.Close())
}

// clients returns one for each master. Its address is the one by which the founder of
// the deployment named it too; what is sent goes through the front.
func (c config) clients() (all []redis.UniversalClient, err error) {
	for _, text := range c.masters {
		address, front, both := strings.Cut(text, "=")
		if !both {
			return nil, fmt.Errorf("master %q is no address=front", text)
		}
		all = append(all, redis.NewClient(&redis.Options{
			Addr: address,
			Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
				d := net.Dialer{Timeout: c.request}
				return d.DialContext(ctx, network, front)
			},
		}))
	}
	return all, nil
}

// say writes a line for people who look into a run: no check reads it.
func say(clock history.Clock, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%9.3fs %s\n", clock.Now().Seconds(), fmt.Sprintf(format, args...))
}
