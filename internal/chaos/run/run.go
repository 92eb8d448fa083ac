//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redlock-go/redlock/internal/chaos/check"
)

// Result is the result of a run.
type Result struct {
	check.Verdict
	Rounds int
	Inits  int // number of inits by force

	// Failed has an entry for each round with violations.
	Failed []Failure
}

// Failure is a round with violations.
type Failure struct {
	Round      int
	Dir        string // with the history
	Command    string
	Violations []check.Violation
}

// Run runs all rounds. It removes the folder of a round without violations when the next round begins. The folders of
// failed rounds and of the last round remain. The error reports why the run could not go on.
func Run(ctx context.Context, c Config) (res Result, err error) {
	scenario, known := c.scenario()
	if c.Scenario != "" && !known {
		return res, fmt.Errorf("chaos: there is no scenario %q", c.Scenario)
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return res, fmt.Errorf("chaos: %w", err)
	}
	bin, err := os.MkdirTemp("", "redlock-chaos-")
	if err != nil {
		return res, fmt.Errorf("chaos: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(bin)) }()
	binaries, err := c.build(ctx, bin)
	if err != nil {
		return res, err
	}
	stores, err := startStores(ctx, c, binaries)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, stores.close()) }()

	rounds, phases := c.plan()
	passed := "" // the folder of the round before, if it passed
	for i := 0; i < rounds || i < rounds+roundsMore && c.provesTooLittle(res); i++ {
		r := round{Config: c, scenario: scenario, number: i + 1, seed: c.Seed + uint64(i), phases: phases, binaries: binaries, stores: stores}
		r.dir = filepath.Join(c.Out, fmt.Sprintf("round-%03d", r.number))
		if err := os.RemoveAll(passed); err != nil {
			return res, fmt.Errorf("chaos: %w", err)
		}
		failure, v, err := r.judge(ctx)
		if err != nil {
			return res, fmt.Errorf("chaos: round %d, to be run again with: %s: %w", r.number, r.command(), err)
		}
		res.Rounds++
		res.Inits += r.members.Counts().Inits
		res.Add(v)
		passed = r.dir
		if failure != nil {
			res.Failed = append(res.Failed, *failure)
			passed = ""
		}
	}
	return res, nil
}

// roundsMore is the largest number of additional rounds of a run.
const roundsMore = 2

// provesTooLittle reports whether a run without violations needs another round, because it has not provoked enough. In
// some rounds, clients acquire hardly any lock while faults are out of the model, so that no two claims overlap then.
func (c Config) provesTooLittle(res Result) bool {
	missing := res.Missing()
	if missing == "" || c.Faults != "" || c.Scenario != "" || len(res.Failed) > 0 {
		return false
	}
	fmt.Fprintf(c.Log, "chaos: %s: one round more\n", missing)
	return true
}

// judge runs the round, and prints its verdict.
func (r *round) judge(ctx context.Context) (*Failure, check.Verdict, error) {
	var v check.Verdict
	var err error
	if r.faults, err = r.schedule(r.seed, r.phases); err != nil {
		return nil, v, err
	}
	v, err = r.run(ctx)
	if err != nil {
		return nil, v, err
	}
	fmt.Fprintf(r.Log, "chaos: round %d, %v: %d faults, %d operations, %d overlaps provoked, %d stale accesses refused, %d violations\n",
		r.number, r.phases.Total(), v.Faults, v.Operations, v.Overlaps, v.Refused, len(v.Violations))
	if len(v.Violations) == 0 {
		return nil, v, nil
	}
	return &Failure{r.number, r.dir, r.command(), v.Violations}, v, nil
}

// command returns a command line that runs this round again, alone.
func (r *round) command() string {
	flags := ""
	if r.Scenario != "" {
		flags = " -chaos.scenario=" + r.Scenario
	}
	return fmt.Sprintf("go test -run 'TestChaos$' . -chaos.seed=%d -chaos.duration=%v -chaos.engine=%s%s -chaos.faults='%s'",
		r.seed, r.phases.Total(), r.Engine, flags, r.faults.String())
}
