package main

import (
	"context"
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

	// minDuration is what one round of faults needs on a busy machine: a holder is paused for more
	// than demoTTL within it.
	minDuration = 3 * time.Second

	// patience is for the start and the end, where nothing should take long.
	patience = 30 * time.Second
)

// demoConfig is redlock demo, as the arguments ask for it.
type demoConfig struct {
	Real     bool          `help:"Real redis-server processes instead of masters inside this process."`
	Duration time.Duration `placeholder:"TIME" default:"15s" help:"Default ${default}, at least ${min_duration}."`
	Seed     *uint64       `placeholder:"N" help:"Of all that is random in the demo itself. Default: by the time."`
	JSON     bool          `name:"json" help:"Print only the verdict, for scripts."`
	Report   string        `placeholder:"FILE" help:"Write a timeline of it all too, as one HTML file to be opened in a browser."`
}

// Help is the long part of the help.
func (*demoConfig) Help() string {
	return `Five workers increment one ledger under one lock on five masters. Masters are killed, frozen and brought back, and holders are paused past their lease. The ledger refuses writes with an old fencing token; a second ledger, without a fence, shows what is lost otherwise. At the end the demo computes a verdict from what it recorded.

NO_COLOR is respected. Without a terminal of 60 x 20, or with TERM unset or dumb, there is a line for each event.

--json prints one object:

  ok           every check holds
  interrupted  by a signal, before the duration was over
  checks       a list: name, ok, and detail of each
  masters      "embedded" or "redis-server"
  seed         that --seed had, or the one that was drawn
  took_ms      how long it took

and what was counted: tokens, stale_writes_refused, masters_killed, masters_frozen, holders_paused; increments_done by the workers and increments_found in the ledger; the same of the one without a fence, unfenced_increments_done and unfenced_increments_found, and unfenced_updates_lost; and longest_wait_ms for the lock.
` + statusHelp(
		statusRow{exitOK, "every check of the verdict holds"},
		statusRow{exitFailed, "one does not"},
		statusRow{exitUsage, "bad input"},
		statusRow{exitUnavailable, "the masters cannot be started"},
		notPrinted,
		statusRow{fmt.Sprintf("%d + N", exitSignal), "interrupted by signal N"},
	)
}

func (cfg *demoConfig) check() error {
	if cfg.Duration < minDuration {
		return fmt.Errorf("invalid --duration %v: must be at least %v, for a lease to run out meanwhile", cfg.Duration, minDuration)
	}
	return nil
}

// run is redlock demo.
func (cfg *demoConfig) run() int {
	if cfg.Seed == nil {
		cfg.Seed = new(uint64(time.Now().UnixMilli() % 1_000_000))
	}
	var file *os.File
	if cfg.Report != "" {
		var err error
		if file, err = os.Create(cfg.Report); err != nil { // now, not after the show
			complain(fmt.Errorf("--report: %w", err))
			return exitUsage
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

// demo is one performance: masters, workers, the ledger they increment, and the stage on which all
// of it is seen.
type demo struct {
	cfg     *demoConfig
	kind    string // of masters, for people
	masters []testMaster
	workers []*worker
	book    *ledger
	stage   *stage
	view    view
}

func newDemo(cfg *demoConfig) (*demo, error) {
	d := &demo{cfg: cfg, kind: "embedded"}
	start := startEmbeddedMasters
	if cfg.Real {
		d.kind, start = "redis-server", startRealMasters
	}
	var err error
	if d.masters, err = start(demoMasters); err != nil {
		return nil, err
	}
	d.stage = newStage(demoMasters, demoWorkers)
	d.stage.recorder.on = cfg.Report != ""
	d.book = &ledger{}
	for id := range demoWorkers {
		w, err := newWorker(id, *cfg.Seed, d.masters, d.book, d.stage)
		if err != nil {
			d.close()
			return nil, err
		}
		d.workers = append(d.workers, w)
	}
	if err := found(d.workers[0].client); err != nil {
		d.close()
		return nil, fmt.Errorf("the masters cannot be used: %w", err)
	}
	d.view = newView(cfg, d.kind)
	return d, nil
}

// play runs workers and faults until the time is over or a signal comes, whose exit status it then
// returns.
func (d *demo) play(signals <-chan os.Signal) (status int) {
	ctx, end := context.WithTimeout(context.Background(), d.cfg.Duration)
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

// startActors starts the workers and the faults. The channel is closed when all of them have ended.
func (d *demo) startActors(ctx context.Context) <-chan struct{} {
	var actors sync.WaitGroup
	for _, w := range d.workers {
		actors.Go(func() { w.work(ctx) })
	}
	faults := plan(rand.New(rand.NewPCG(*d.cfg.Seed, 0)), d.cfg.Duration)
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
	r.seed, r.masters = *d.cfg.Seed, d.kind
	r.found, r.bareFound = d.book.read()
	r.landed = d.book.landed // nobody writes any more
	return r
}

// conclude prints the verdict.
func (d *demo) conclude(v verdict) {
	if d.cfg.JSON {
		printJSON(stdout, v)
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
