package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	demoMasters = 5
	demoWorkers = 5
	demoLock    = "ledger"

	// demoTTL is short, so that one can watch a lease run out.
	demoTTL = time.Second

	// demoTimeout is how long a frozen master may keep a worker waiting.
	demoTimeout = 400 * time.Millisecond

	// minDuration is what one round of faults needs on a busy machine: a holder is
	// paused for more than demoTTL within it.
	minDuration = 3 * time.Second

	// patience is for the start and the end, where nothing should take long.
	patience = 30 * time.Second
)

// demoConfig is what the arguments of demo ask for.
type demoConfig struct {
	real     bool
	json     bool
	duration time.Duration
	seed     uint64
	report   string // the file to write it to; empty: none
}

func parseDemo(args []string) (demoConfig, error) {
	var cfg demoConfig
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.BoolVar(&cfg.real, "real", false, "")
	fs.BoolVar(&cfg.json, "json", false, "")
	fs.DurationVar(&cfg.duration, "duration", 15*time.Second, "")
	fs.Uint64Var(&cfg.seed, "seed", uint64(time.Now().UnixMilli()%1_000_000), "")
	fs.StringVar(&cfg.report, "report", "", "")
	if err := parseFlags(fs, args); err != nil {
		return cfg, err
	}
	if fs.NArg() > 0 {
		return cfg, fmt.Errorf("argument is %q: demo takes flags only", fs.Arg(0))
	}
	if cfg.duration < minDuration {
		return cfg, fmt.Errorf("--duration is %v: it must be at least %v, for a lease to run out meanwhile", cfg.duration, minDuration)
	}
	return cfg, nil
}

// demoCommand is redlock demo.
func demoCommand(args []string) int {
	cfg, err := parseDemo(args)
	if err != nil {
		return badInput(err, demoUsage)
	}
	var file *os.File
	if cfg.report != "" {
		if file, err = os.Create(cfg.report); err != nil { // now, not after the show
			return badInput(fmt.Errorf("--report: %w", err), demoUsage)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	d, err := newDemo(cfg)
	if err != nil {
		complain(err)
		return exitUnavailable
	}
	defer d.close()
	status := d.play(signals)
	v := judge(d.record())
	d.conclude(v)
	if file != nil {
		if err := d.writeReport(file, v); err != nil {
			complain(fmt.Errorf("--report: %w", err))
			return exitFailed
		}
	}
	switch {
	case v.Interrupted:
		return status
	case !v.OK:
		return exitFailed
	}
	return exitOK
}

// demo is one performance: masters, workers, the ledger they increment, and the
// stage on which all of it is seen.
type demo struct {
	cfg     demoConfig
	kind    string // of masters, for people
	masters []testMaster
	workers []*worker
	book    *ledger
	stage   *stage
	view    view
}

func newDemo(cfg demoConfig) (*demo, error) {
	d := &demo{cfg: cfg, kind: "embedded"}
	start := startEmbeddedMasters
	if cfg.real {
		d.kind, start = "redis-server", startRealMasters
	}
	var err error
	if d.masters, err = start(demoMasters); err != nil {
		return nil, err
	}
	d.stage = newStage(demoMasters, demoWorkers)
	d.stage.recorder.on = cfg.report != ""
	d.book = &ledger{}
	for id := range demoWorkers {
		w, err := newWorker(id, cfg.seed, d.masters, d.book, d.stage)
		if err != nil {
			d.close()
			return nil, err
		}
		d.workers = append(d.workers, w)
	}
	// The first acquisition on empty masters writes their counters, which takes
	// longer than any other: it is no part of the show.
	if err := d.workers[0].found(); err != nil {
		d.close()
		return nil, fmt.Errorf("the masters cannot be used: %w", err)
	}
	d.view = newView(cfg, d.kind)
	return d, nil
}

// play runs workers and faults until the time is over or a signal comes, whose
// exit status it then returns.
func (d *demo) play(signals <-chan os.Signal) (status int) {
	ctx, end := context.WithTimeout(context.Background(), d.cfg.duration)
	defer end()
	d.stage.open()

	drawn := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(drawn)
		show(d.view, d.stage, over)
	}()

	actors := d.startActors(ctx)
	select {
	case <-actors:
	case s := <-signals:
		d.stage.interrupt()
		status = exitSignal + int(s.(syscall.Signal))
		end()
		<-actors
	}
	close(over)
	<-drawn
	return status
}

// startActors starts the workers and the faults. The channel is closed when all
// of them have ended.
func (d *demo) startActors(ctx context.Context) <-chan struct{} {
	var actors sync.WaitGroup
	for _, w := range d.workers {
		actors.Go(func() { w.work(ctx) })
	}
	faults := plan(rand.New(rand.NewPCG(d.cfg.seed, 0)), d.cfg.duration)
	actors.Go(func() { d.inflict(ctx, faults) })
	done := make(chan struct{})
	go func() {
		actors.Wait()
		close(done)
	}()
	return done
}

// record is all that the verdict is computed from.
func (d *demo) record() record {
	r := d.stage.finish()
	r.seed, r.masters = d.cfg.seed, d.kind
	r.found, r.bareFound = d.book.read()
	r.landed = d.book.landed // nobody writes any more
	return r
}

// conclude prints the verdict.
func (d *demo) conclude(v verdict) {
	if d.cfg.json {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		_ = out.Encode(v) // to a closed pipe: the exit status still tells
		return
	}
	d.view.conclude(v)
}

func (d *demo) close() {
	for _, w := range d.workers {
		w.close()
	}
	for _, m := range d.masters {
		m.stop()
	}
}
