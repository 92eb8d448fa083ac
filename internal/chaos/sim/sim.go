package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/operator"
	"github.com/redlock-go/redlock/internal/chaos/play"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// Config holds the parameters of a round.
type Config struct {
	// Seed decides everything except the order of goroutines.
	Seed uint64

	// Length is the length of the phase within the fault model, in ttls.
	Length int

	// Faults is a schedule in the form that a failed round prints. If it is empty, the schedule is drawn from the seed.
	Faults string

	// Setup replaces drawn values of the deployment and its clients, for example "founders=5 ttl=500ms". The other keys
	// are clients, workers, names, max-ttl, request, latency, outside (ttls out of the fault model), reads (of a
	// hundred locks), sets (of a hundred calls) and lacks (founders that one client does not name). Values without a
	// key in Setup are drawn.
	Setup string

	// Options are given to every client. They must set a clock that runs in the time of the synctest bubble.
	Options []redlock.Option

	// Output receives lines for people who investigate a round.
	Output io.Writer
}

// Result is the result of a round.
type Result struct {
	check.Verdict
	Simulated time.Duration
	Inits     int             // number of inits by force
	Faults    string          // the schedule, as Config.Faults takes it
	Events    []history.Event // the history
}

// Play plays a round. It must be called in a testing/synctest bubble. The error reports why the round could not be
// played.
func Play(ctx context.Context, c Config) (Result, error) {
	s, err := newSetup(c.Seed, c.Length).with(c.Setup)
	if err != nil {
		return Result{}, err
	}
	faults := fault.Round(c.Seed, s.plan(), s.phases().InModel, s.phases().OutOfModel)
	if c.Faults != "" {
		if faults, err = fault.ParseSchedule(c.Faults); err != nil {
			return Result{}, err
		}
	}
	w := newWorld(s)
	l := &log{start: time.Now()}
	output := &lockedWriter{to: c.Output}
	processes := newClients(s, w, l, c.Options, output)
	o := &operator.Operator{
		Masters: w.Masters(), Founders: s.founders, MaxTTL: s.maxTTL, Patience: s.needsInit(),
		Open: func(masters []cluster.Master) (*redlock.Client, error) { return w.open(masters, s, c.Options) }, Log: output,
	}
	found, err := (&play.Round{
		Env: &fault.Env{
			World: w, Processes: processes, Operator: o, Patience: s.quarantine() + 6*time.Second, Names: s.lockNames(),
			Register: script.RegisterKey(limits.DefaultPrefix), Emit: l.Write,
		},
		Operator: o, Faults: faults, Phases: s.phases(), Recovery: s.restored(), Names: s.lockNames(), Lists: s.list,
		Soon: true, Log: l, Events: l.all, Output: output,
	}).Play(ctx)
	late, failed := processes.end(endTime)
	if err := errors.Join(err, failed, w.close()); err != nil {
		return Result{}, err
	}
	events, _ := l.all()
	r := Result{Verdict: check.All(events, s.bounds()), Simulated: l.Now(), Inits: o.Counts().Inits, Faults: faults.String(), Events: events}
	r.Violations = append(r.Violations, found...)
	for _, client := range late {
		r.Violations = append(r.Violations, check.Violation{Rule: check.Starvation, At: l.Now(), Text: fmt.Sprintf("%s did not end within %v", client, endTime)})
	}
	return r, nil
}

// lockedWriter makes a Writer safe for concurrent use.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (s *lockedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// endTime is how long clients may take to unlock and end.
const endTime = time.Minute

// open returns an operator's client for these masters.
func (w *world) open(masters []cluster.Master, s setup, options []redlock.Option) (*redlock.Client, error) {
	var all []redis.UniversalClient
	for _, m := range masters {
		o := m.(*master).options()
		dial := w.fronts[operators][slices.Index(w.Masters(), m)].listener.Dial
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
		all = append(all, redis.NewClient(o))
	}
	c, err := redlock.New(all, append(options[:len(options):len(options)],
		redlock.WithTTL(s.ttl), redlock.WithMaxTTL(s.maxTTL), redlock.WithRequestTimeout(s.request))...)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	return c, nil
}
