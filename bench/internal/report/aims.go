package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/redlock-go/redlock/bench/internal/workload"
)

// aim is an aim of the project: a bound for this library's figure under a workload, divided by the base's figure
// in the same repetition. The base is another contender.
type aim struct {
	name     string
	atLeast  bool // false: at most
	bound    float64
	of       figure
	workload string
	base     string
}

var aims = []aim{
	{"series: pairs/s against the floor", true, .9, perSecond, "series", "floor"},
	{"... against redsync", true, 1.25, perSecond, "series", "redsync"},
	{"64 workers: pairs/s against the floor", true, .85, perSecond, "distinct-64", "floor"},
	{"... against redsync", true, 4.5, perSecond, "distinct-64", "redsync"},
	{"... client CPU a pair against the floor's", false, 1.3, clientCPU, "distinct-64", "floor"},
	{"512 workers: pairs/s against redsync", true, 5, perSecond, "distinct-512", "redsync"},
	{"one master, 64 workers: pairs/s against rueidislock", true, 1, perSecond, "distinct-64-n1", "rueidislock"},
	{"8 processes, hold 1 ms: holds/s against redsync", true, 1, perSecond, "contended-8-procs", "redsync"},
	{"... wait p99 against redsync's", false, 1. / 15, waitP99, "contended-8-procs", "redsync"},
	{"... server CPU a hold against redsync's", false, 1.8, serverCPU, "contended-8-procs", "redsync"},
	{"... masters 0.5 ms away: holds/s against redsync", true, 1.6, perSecond, "contended-8-procs-link-1ms", "redsync"},
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
		if i >= len(base) {
			break
		}
		values = append(values, a.of.of(cell)/a.of.of(base[i]))
		failures += cell.Failed + base[i].Failed
	}
	measured = workload.Quantile(values, .5)
	met = measured <= a.bound
	if a.atLeast {
		met = measured >= a.bound
	}
	return measured, met && failures == 0, len(values) > 0
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
