package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

const (
	ours    = contender.Redlock
	fair    = contender.Fair
	floor   = "floor-batch"
	redsync = "redsync"
	rueidis = "rueidislock"
)

// Aim is one aim of the project, and how it came out.
type Aim struct {
	Aim      string  `json:"aim"`
	AtLeast  bool    `json:"atLeast"` // else at most
	Bound    float64 `json:"bound"`
	Measured float64 `json:"measured"` // median of the rounds
	Low      float64 `json:"low"`      // of the rounds
	High     float64 `json:"high"`
	Known    bool    `json:"known"`  // it was measured
	Failed   int     `json:"failed"` // calls behind it that ended in an error: it is not met then
	Met      bool    `json:"met"`
}

// figure is one cell's measure of something.
type figure func(workload.Cell) float64

func perSecond(c workload.Cell) float64 { return c.PerSecond }
func allocs(c workload.Cell) float64    { return c.Allocs }
func clientCPU(c workload.Cell) float64 { return float64(c.ClientCPU) / float64(time.Microsecond) }
func cores(c workload.Cell) float64     { return c.ClientCores + c.ServerCores }
func waitP50(c workload.Cell) float64   { return float64(c.Wait.P50) }
func waitP99(c workload.Cell) float64   { return float64(c.Wait.P99) }
func evenness(c workload.Cell) float64  { return c.Evenness }

// subject is a contender under a workload.
type subject struct{ workload, contender string }

// rule is an aim before it is judged: a figure of a subject, or, with a base, its ratio to the
// base's in the same round.
type rule struct {
	aim     string
	atLeast bool
	bound   float64
	of      figure
	subject subject
	base    subject
}

const (
	series   = workload.Series
	distinct = workload.Distinct
	many     = workload.Many
	linked   = workload.LinkedName
)

func rules() []rule {
	oneClient := workload.ContendedName(8, workload.OneClient, time.Millisecond)
	procs := workload.ContendedName(8, workload.Processes, time.Millisecond)
	all := []rule{
		{"64 workers, distinct names: pairs/s against redsync", true, 6, perSecond, subject{distinct, ours}, subject{distinct, redsync}},
		{"512 workers: the same", true, 7, perSecond, subject{many, ours}, subject{many, redsync}},
		{"one master, 64 workers: against rueidislock", true, 1.1, perSecond, subject{distinct + "-n1", ours}, subject{distinct + "-n1", rueidis}},
		{"64 workers: against the batch floor", true, .75, perSecond, subject{distinct, ours}, subject{distinct, floor}},
		{"series: against the batch floor", true, .95, perSecond, subject{series, ours}, subject{series, floor}},
		{"64 workers: client CPU a pair, us", false, 30, clientCPU, subject{distinct, ours}, subject{}},
		{"64 workers: allocations a pair", false, 25, allocs, subject{distinct, ours}, subject{}},
		{"8 contenders, hold 1ms, one client: holds/s", true, 780, perSecond, subject{oneClient, ours}, subject{}},
		{"... wait p99 against redsync's", false, 1. / 20, waitP99, subject{oneClient, ours}, subject{oneClient, redsync}},
		{"8 contenders, hold 1ms, 8 processes: holds/s against redsync", true, 1, perSecond, subject{procs, ours}, subject{procs, redsync}},
		{"... wait p99 against redsync's", false, 1. / 20, waitP99, subject{procs, ours}, subject{procs, redsync}},
		{"... masters 0.5ms away: holds/s against redsync", true, 1.4, perSecond, subject{linked, ours}, subject{linked, redsync}},
		{"... wait p99 against redsync's", false, 1. / 15, waitP99, subject{linked, ours}, subject{linked, redsync}},
		{"10 000 names waited for by one client, nothing released: cores of it and the masters", false, .2, cores, subject{workload.Waiting, ours}, subject{}},
	}
	for _, fault := range []string{"hung", "slow", "dead"} {
		for _, w := range []string{series, distinct} {
			all = append(all,
				rule{fmt.Sprintf("one master %s, %s: lock p50 against healthy", fault, w), false, 1.2, waitP50, subject{w + "-" + fault, ours}, subject{w, ours}},
				rule{"... lock p99 against healthy", false, 1.2, waitP99, subject{w + "-" + fault, ours}, subject{w, ours}},
			)
		}
	}
	all = append(all, rule{"9 masters: client CPU a pair against 5", false, 9. / 5, clientCPU, subject{distinct + "-n9", ours}, subject{distinct, ours}})
	for _, hold := range []time.Duration{0, time.Millisecond} {
		one := workload.ContendedName(64, workload.OneClient, hold)
		each := workload.ContendedName(64, workload.ClientEach, hold)
		all = append(all,
			rule{fmt.Sprintf("64 contenders, hold %v, one client: min/max of holds", hold), true, .9, evenness, subject{one, ours}, subject{}},
			rule{"... a client each", true, .5, evenness, subject{each, ours}, subject{}},
			rule{"... a client each, fair", true, .9, evenness, subject{each, fair}, subject{}},
		)
	}
	return all
}

// Needed reports whether an aim rests on the contender under the workload.
func Needed(workload, contender string) bool {
	s := subject{workload, contender}
	return slices.ContainsFunc(rules(), func(a rule) bool { return a.subject == s || a.base == s })
}

// judge says how the aims came out.
func (r *Report) judge() []Aim {
	var aims []Aim
	for _, a := range rules() {
		aim := Aim{Aim: a.aim, AtLeast: a.atLeast, Bound: a.bound}
		if values := a.values(r); len(values) > 0 {
			aim.Known = true
			aim.Measured, aim.Low, aim.High = stats.MedianFloat(values), slices.Min(values), slices.Max(values)
			aim.Failed = r.Find(a.subject.workload, a.subject.contender).Summary.Failed
			aim.Met = aim.Failed == 0 && (aim.Measured == a.bound || aim.Measured > a.bound == a.atLeast)
		}
		aims = append(aims, aim)
	}
	return aims
}

// values are the rule's figure, or ratio, of each round.
func (a rule) values(r *Report) []float64 {
	subject := r.Find(a.subject.workload, a.subject.contender)
	if subject == nil {
		return nil
	}
	values := each(subject.Cells, a.of)
	if a.base.workload == "" {
		return values
	}
	base := r.Find(a.base.workload, a.base.contender)
	if base == nil {
		return nil
	}
	n := min(len(values), len(base.Cells))
	for i, b := range each(base.Cells[:n], a.of) {
		values[i] /= b
	}
	return values[:n]
}

// WriteAims writes the aims that were measured, if any.
func (r *Report) WriteAims(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\naim\twanted\tmeasured\trounds\t\n")
	any := false
	for _, a := range r.judge() {
		if !a.Known {
			continue
		}
		any = true
		sign, verdict := "<=", "NOT MET"
		if a.AtLeast {
			sign = ">="
		}
		if a.Met {
			verdict = "met"
		}
		if a.Failed > 0 {
			verdict = fmt.Sprintf("NOT MET: %d calls failed", a.Failed)
		}
		fmt.Fprintf(table, "%s\t%s %.3g\t%.3g\t%.3g to %.3g\t%s\n", a.Aim, sign, a.Bound, a.Measured, a.Low, a.High, verdict)
	}
	if any {
		_ = table.Flush()
	}
}
