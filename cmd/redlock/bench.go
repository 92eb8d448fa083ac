package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
)

const (
	// benchPrefix begins the names that redlock bench locks. What follows is random.
	benchPrefix = "redlock-bench:"

	minWorkers, maxWorkers = 2, 128 // a hand-over needs two
	minBench, maxBench     = time.Second, 10 * time.Minute
)

func benchVars() kong.Vars {
	return kong.Vars{
		"min_workers": fmt.Sprint(minWorkers), "max_workers": fmt.Sprint(maxWorkers), "min_bench": minBench.String(), "max_bench": maxBench.String(),
	}
}

// benchConfig is redlock bench.
type benchConfig struct {
	deployment
	Workers  int           `placeholder:"N" default:"8" help:"How many lock at the same time, ${min_workers} to ${max_workers}. Default ${default}."`
	Duration time.Duration `placeholder:"TIME" default:"9s" help:"How long to measure, ${min_bench} to ${max_bench}; each of the three parts takes a third. Default ${default}."`
	JSON     bool          `name:"json" help:"As one JSON object, for scripts."`
}

// Help is the long part of the help.
func (*benchConfig) Help() string {
	return `First it measures each master's round trip (PING): a majority of slow masters makes all locks slow. Then acquire and release, in three parts:

  uncontended  one worker alone, on a name of its own
  throughput   all workers of one client at once, each on a name of its own
  hand-over    all workers, each with a client of its own, on one name: the time
               from one's Unlock until the next one's Lock has returned

The masters work as for as many real locks.

It locks names that begin with ` + benchPrefix + `, a random text and a colon, which nobody else uses. They are free when it ends; notes of waiters are gone a minute later. The fencing counters stay raised, as after any lock.

--json prints one object; times are in microseconds:

  masters      an array, of each: master; error, or ""; rtt, with p50 and p99
  uncontended, throughput, handOver
               of each part: acquisitions; perSecond; acquire and release,
               with p50 and p99; handOver has handOver, with p50 and p99, too.
               null if there are no figures
  error        why there are none, or ""
` + statusHelp(
		statusRow{exitOK, "measured"},
		statusRow{exitUsage, "bad input"},
		statusRow{exitUnavailable, "a lock was not obtained, or was lost: no figures"},
		notPrinted,
		statusRow{fmt.Sprintf("%d + N", exitSignal), "interrupted by signal N: no figures"},
	)
}

func (cfg *benchConfig) check() error {
	errs := []error{cfg.deployment.check(false)}
	if cfg.Workers < minWorkers || cfg.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("invalid --workers %d: must be from %d to %d", cfg.Workers, minWorkers, maxWorkers))
	}
	if cfg.Duration < minBench || cfg.Duration > maxBench {
		errs = append(errs, fmt.Errorf("invalid --duration %v: must be from %v to %v", cfg.Duration, minBench, maxBench))
	}
	return errors.Join(errs...)
}

func (cfg *benchConfig) run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() { cancel(interrupted{(<-signals).(syscall.Signal)}) }()

	report, err := cfg.measure(ctx)
	status := exitOK
	if s, ok := errors.AsType[interrupted](context.Cause(ctx)); ok {
		err, status = s, exitSignal+int(s.Signal)
	} else if errors.Is(err, redlock.ErrBadOption) {
		complain(err)
		return exitUsage
	} else if err != nil {
		status = exitUnavailable
	}
	if err != nil {
		complain(err)
		report = benchReport{Masters: []benchMaster{}, Error: textOf(err)} // no half of the figures
	}
	switch {
	case cfg.JSON:
		printJSON(stdout, report)
	case err == nil:
		report.print(stdout)
	}
	return status
}

// interrupted is a signal that ended the measurement.
type interrupted struct{ syscall.Signal }

func (s interrupted) Error() string { return "interrupted: " + s.String() }

// measure takes the parts one after the other.
func (cfg *benchConfig) measure(ctx context.Context) (benchReport, error) {
	var r benchReport
	first, err := cfg.openClient(nil)
	if err != nil {
		return r, err
	}
	defer first.Close()
	if _, err := admin.Members(ctx, first); err != nil {
		return r, err
	}
	r.Masters = roundTrips(ctx, cfg.Masters)

	base, third := benchPrefix+rand.Text()+":", cfg.Duration/3
	own := func(worker int) string { return fmt.Sprint(base, worker) }
	if r.Uncontended, err = part(ctx, third, []*redlock.Client{first}, own); err != nil {
		return r, err
	}
	same := slices.Repeat([]*redlock.Client{first}, cfg.Workers)
	if r.Throughput, err = part(ctx, third, same, own); err != nil {
		return r, err
	}
	clients := []*redlock.Client{first}
	for range cfg.Workers - 1 {
		c, err := cfg.openClient(nil)
		if err != nil {
			return r, err
		}
		defer c.Close()
		clients = append(clients, c)
	}
	r.HandOver, err = part(ctx, third, clients, func(int) string { return base + "hand-over" })
	return r, err
}

// turn is one acquisition of a worker.
type turn struct{ asked, got, leaves, left time.Time }

// part has each of the clients lock and unlock what name gives for its place, until the time is up,
// and returns the figures. Nothing is held any more when it returns.
func part(ctx context.Context, length time.Duration, clients []*redlock.Client, name func(worker int) string) (*benchPart, error) {
	connect, connecting := errgroup.WithContext(ctx)
	for i, c := range clients {
		connect.Go(func() error {
			_, err := takeTurn(connecting, c, fmt.Sprintf("%s:%d", name(i), i))
			return err
		})
	}
	if err := connect.Wait(); err != nil {
		return nil, err
	}
	turns := make([][]turn, len(clients))
	began := time.Now()
	work, working := errgroup.WithContext(ctx)
	for i, c := range clients {
		work.Go(func() error {
			for time.Since(began) < length {
				t, err := takeTurn(working, c, name(i))
				if err != nil {
					return err
				}
				turns[i] = append(turns[i], t)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	return figures(slices.Concat(turns...), time.Since(began), name(0) == name(1)), nil
}

// takeTurn is one turn.
func takeTurn(ctx context.Context, c *redlock.Client, name string) (turn, error) {
	t := turn{asked: time.Now()}
	lock, err := c.Lock(ctx, name, redlock.WithWait(limits.DefaultTTL))
	if err != nil {
		return t, err
	}
	t.got, t.leaves = time.Now(), time.Now()
	err = lock.Unlock(context.WithoutCancel(ctx))
	t.left = time.Now()
	return t, err
}

// The figures. The help describes the object; scripts rely on its names.
type (
	benchReport struct {
		Masters     []benchMaster `json:"masters"`
		Uncontended *benchPart    `json:"uncontended"`
		Throughput  *benchPart    `json:"throughput"`
		HandOver    *benchPart    `json:"handOver"`
		Error       string        `json:"error"`
	}
	benchMaster struct {
		Master string      `json:"master"`
		Error  string      `json:"error"`
		RTT    percentiles `json:"rtt"`
	}
	benchPart struct {
		Acquisitions int          `json:"acquisitions"`
		PerSecond    float64      `json:"perSecond"`
		Acquire      percentiles  `json:"acquire"`
		Release      percentiles  `json:"release"`
		HandOver     *percentiles `json:"handOver,omitempty"`
	}
	percentiles struct {
		P50 float64 `json:"p50"` // µs
		P99 float64 `json:"p99"`
	}
)

// figures makes the figures of turns that took so long together; if they were all at one name, of
// the hand-overs too.
func figures(turns []turn, took time.Duration, oneName bool) *benchPart {
	var acquire, release, between []time.Duration
	slices.SortFunc(turns, func(a, b turn) int { return a.got.Compare(b.got) })
	for i, t := range turns {
		acquire = append(acquire, t.got.Sub(t.asked))
		release = append(release, t.left.Sub(t.leaves))
		// Only where the next one waited already is it a hand-over.
		if i > 0 && oneName && t.asked.Before(turns[i-1].leaves) {
			between = append(between, t.got.Sub(turns[i-1].leaves))
		}
	}
	p := &benchPart{Acquisitions: len(turns), PerSecond: float64(len(turns)) / took.Seconds(), Acquire: percentilesOf(acquire), Release: percentilesOf(release)}
	if oneName {
		handOver := percentilesOf(between)
		p.HandOver = &handOver
	}
	return p
}

// percentilesOf sorts the times, and picks; 0 of none.
func percentilesOf(times []time.Duration) percentiles {
	if len(times) == 0 {
		return percentiles{}
	}
	slices.Sort(times)
	pick := func(hundredths int) float64 {
		return float64(times[(len(times)-1)*hundredths/100]) / float64(time.Microsecond)
	}
	return percentiles{pick(50), pick(99)}
}

// benchPings is how many pings tell a round trip.
const benchPings = 200

// roundTrips measures the masters one after the other, for at most a second each.
func roundTrips(ctx context.Context, urls []string) []benchMaster {
	var all []benchMaster
	for _, url := range urls {
		m := benchMaster{Master: addressOf(url)}
		times, err := pings(ctx, url)
		m.Error, m.RTT = textOf(err), percentilesOf(times)
		all = append(all, m)
	}
	return all
}

func pings(ctx context.Context, url string) (times []time.Duration, err error) {
	o, err := masterurl.Parse(url)
	if err != nil {
		return nil, err
	}
	c := master.NewEndpoint(o, limits.DefaultRequestTimeout).Redis
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil { // connects
		return nil, err
	}
	for began := time.Now(); len(times) < benchPings && time.Since(began) < time.Second; {
		sent := time.Now()
		if err := c.Ping(ctx).Err(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(sent))
	}
	return times, nil
}

func (r benchReport) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "round trip\tp50\tp99\t")
	for _, m := range r.Masters {
		if m.Error != "" {
			fmt.Fprintf(table, "%s\t-\t-\t  %s\n", m.Master, m.Error)
		} else {
			fmt.Fprintf(table, "%s\t%s\n", m.Master, m.RTT)
		}
	}
	_ = table.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(table, "\tper second\tacquire p50\tp99\trelease p50\tp99\thand-over p50\tp99\t")
	for _, p := range []struct {
		name string
		*benchPart
	}{{"uncontended", r.Uncontended}, {"throughput", r.Throughput}, {"hand-over", r.HandOver}} {
		between := "-\t-\t"
		if p.HandOver != nil {
			between = p.HandOver.String()
		}
		fmt.Fprintf(table, "%s\t%.0f\t%s%s%s\n", p.name, p.PerSecond, p.Acquire, p.Release, between)
	}
	_ = table.Flush()
}

// String is two cells of a table.
func (p percentiles) String() string {
	cell := func(us float64) time.Duration { return short(time.Duration(us * float64(time.Microsecond))) }
	return fmt.Sprintf("%v\t%v\t", cell(p.P50), cell(p.P99))
}
