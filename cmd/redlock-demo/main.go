// Command redlock-demo shows what the lock and its fencing tokens do when masters die and a holder
// is paused. With the argument "masters" it only starts masters, on which programs can try the lock.
//
// Goroutines: one for each worker and one for the faults. demo.play waits for all of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/embedded"
)

const (
	masterCount = 5
	workerCount = 5
	lockName    = "ledger"

	// leaseTTL is short, so that viewers see a lease run out.
	leaseTTL = time.Second

	// requestTimeout is how long a frozen master may keep a worker waiting.
	requestTimeout = 400 * time.Millisecond

	// minDuration is enough for one series of faults on a busy machine. In a series a holder is paused for
	// longer than leaseTTL.
	minDuration = 3 * time.Second

	// initTimeout bounds Init on masters that have just started.
	initTimeout = 30 * time.Second
)

// The exit statuses are those of the command redlock.
const (
	exitFailed      = 1
	exitUsage       = 64
	exitUnavailable = 69
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the demo or the masters, until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("redlock-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "redlock-demo [flags]: masters killed, a worker paused, every stale write refused\nredlock-demo masters: five masters in this process, to try the lock with")
		flags.PrintDefaults()
	}
	duration := flags.Duration("duration", 15*time.Second, fmt.Sprintf("at least %v", minDuration))
	asJSON := flags.Bool("json", false, "print the verdict alone, as one JSON object")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	fail := func(status int, err error) int {
		fmt.Fprintln(stderr, "redlock-demo:", err)
		return status
	}
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "masters":
		if err := serve(ctx, stdout); err != nil {
			return fail(exitUnavailable, err)
		}
		return 0
	case flags.NArg() > 0:
		return fail(exitUsage, fmt.Errorf("unknown argument %q: masters is the only one", flags.Arg(0)))
	case *duration < minDuration:
		return fail(exitUsage, fmt.Errorf("-duration %v is less than %v, which a lease needs to run out", *duration, minDuration))
	}
	story := stdout
	if *asJSON {
		story = io.Discard
	}
	d, err := newDemo(story)
	if err != nil {
		return fail(exitUnavailable, err)
	}
	defer d.close()
	v := d.play(ctx, *duration)
	if *asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(v)
	} else {
		err = v.print(stdout)
	}
	switch {
	case err != nil:
		return fail(exitFailed, err)
	case v.Interrupted:
		return exitInterrupted
	case !v.OK:
		return exitFailed
	}
	return 0
}

// serve runs masters in this process until ctx ends, and prints how to reach them.
func serve(ctx context.Context, stdout io.Writer) error {
	var urls []string
	for range masterCount {
		s, err := embedded.NewListening("127.0.0.1:0")
		if err != nil {
			return err
		}
		defer s.Close()
		urls = append(urls, "redis://"+s.Addr())
	}
	client, err := redlock.Open(urls)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := initialize(client); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "export REDLOCK_MASTERS="+strings.Join(urls, ","))
	<-ctx.Done()
	return nil
}

// initialize makes a deployment of masters that have just started and have no other clients. It retries if a
// master does not answer in time on a busy machine.
func initialize(client *redlock.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), initTimeout)
	defer cancel()
	for {
		err := admin.Init(ctx, client, 0)
		if !errors.Is(err, redlock.ErrNoQuorum) || !sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

// demo is one run of the demo.
type demo struct {
	masters []*embedded.Server
	workers []*worker
	stage   *stage
}

func newDemo(story io.Writer) (*demo, error) {
	d := &demo{stage: &stage{story: story, began: time.Now()}}
	for range masterCount {
		d.masters = append(d.masters, embedded.New())
	}
	for id := range workerCount {
		w, err := newWorker(id, d.masters, d.stage)
		if err != nil {
			d.close()
			return nil, err
		}
		d.workers = append(d.workers, w)
	}
	if err := initialize(d.workers[0].client); err != nil {
		d.close()
		return nil, fmt.Errorf("the masters cannot be used: %w", err)
	}
	d.stage.began = time.Now()
	return d, nil
}

// play runs the workers and the faults for a given time, or until the context ends. It returns the verdict.
func (d *demo) play(interrupted context.Context, whole time.Duration) verdict {
	ctx, end := context.WithTimeout(interrupted, whole)
	defer end()
	var actors sync.WaitGroup
	for _, w := range d.workers {
		actors.Go(func() { w.work(ctx) })
	}
	actors.Go(func() { d.inflict(ctx, whole) })
	actors.Wait()
	return d.stage.judge(interrupted.Err() != nil)
}

func (d *demo) close() {
	for _, w := range d.workers {
		w.close()
	}
	for _, m := range d.masters {
		m.Close()
	}
}

// sleep waits for d. It returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
