package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/redlock-go/redlock/bench/internal/workload"
)

// aim is an aim of the project. It limits a figure of this library under a workload. If it has a base (another
// contender), it limits the ratio of this figure to the base's figure in the same repetition.
type aim struct {
	name     string
	atLeast  bool // false: at most
	bound    float64
	of       figure
	workload string
	base     string
}

var aims = []aim{
	{"64 workers: pairs/s against redsync", true, 6, perSecond, "distinct-64", "redsync"},
	{"512 workers: the same", true, 7, perSecond, "distinct-512", "redsync"},
	{"one master, 64 workers: against rueidislock", true, 1.1, perSecond, "distinct-64-n1", "rueidislock"},
	{"64 workers: against the floor", true, .75, perSecond, "distinct-64", "floor"},
	{"series: the same", true, .95, perSecond, "series", "floor"},
	{"64 workers: client CPU a pair, µs", false, 30, clientCPU, "distinct-64", ""},
	{"... allocations", false, 25, allocs, "distinct-64", ""},
	{"8 contenders, hold 1 ms, one client: holds/s", true, 780, perSecond, "contended-8", ""},
	{"... wait p99 against redsync's", false, 1. / 20, waitP99, "contended-8", "redsync"},
	{"... 8 processes: holds/s against redsync", true, 1, perSecond, "contended-8-procs", "redsync"},
	{"... wait p99 against redsync's", false, 1. / 20, waitP99, "contended-8-procs", "redsync"},
	{"... masters 0.5 ms away: holds/s against redsync", true, 1.4, perSecond, "contended-8-procs-link-1ms", "redsync"},
	{"... wait p99 against redsync's", false, 1. / 15, waitP99, "contended-8-procs-link-1ms", "redsync"},
}

// Needed reports whether an aim depends on the subject.
func Needed(s Subject) bool {
	return slices.ContainsFunc(aims, func(a aim) bool {
		return a.workload == s.Workload && (s.Contender == "redlock" || s.Contender == a.base)
	})
}

// judge returns the median of the repetitions, and reports whether this median meets the aim, and whether there is a
// median at all. If a call failed, the aim is not met.
func (a aim) judge(r Report) (measured float64, met, known bool) {
	var values []float64
	failures := 0
	base := r[Subject{a.workload, a.base}]
	for i, cell := range r[Subject{a.workload, "redlock"}] {
		value := a.of.of(cell)
		failures += cell.Failed
		if a.base != "" {
			if i >= len(base) {
				break
			}
			value /= a.of.of(base[i])
			failures += base[i].Failed
		}
		values = append(values, value)
	}
	measured = workload.Quantile(values, .5)
	return measured, failures == 0 && (measured == a.bound || measured > a.bound == a.atLeast), len(values) > 0
}

// WriteAims writes the aims that were measured, if any.
func (r Report) WriteAims(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "\naim\twanted\tmeasured\t\n"
	for _, a := range aims {
		measured, met, known := a.judge(r)
		if !known {
			continue
		}
		sign, verdict := "<=", "NOT MET"
		if a.atLeast {
			sign = ">="
		}
		if met {
			verdict = "met"
		}
		fmt.Fprintf(table, "%s%s\t%s %.3g\t%.3g\t%s\n", head, a.name, sign, a.bound, measured, verdict)
		head = ""
	}
	_ = table.Flush() // nobody would read the error
}
