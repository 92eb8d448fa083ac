package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock/bench/internal/stats"
)

// WriteTable writes the figures for people, workload by workload.
func (r *Report) WriteTable(out io.Writer) {
	fmt.Fprintf(out, "%s, %s, %d CPUs (%s); cells of %v, median of %d rounds, max of all\n",
		r.Version["go"], r.Machine.OS+"/"+r.Machine.Arch, r.Machine.CPUs, r.Machine.CPU, r.Cell, r.Rounds)
	var order []string
	for _, result := range r.Results {
		if !slices.Contains(order, result.Workload) {
			order = append(order, result.Workload)
		}
	}
	for _, name := range order {
		if strings.HasPrefix(name, "waiting") || strings.HasPrefix(name, "holding") {
			r.writeCores(out, name)
		} else {
			r.writeWorkload(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Absent)) {
		fmt.Fprintf(out, "\nNOT RUN: %s: %s\n", name, r.Absent[name])
	}
}

func (r *Report) writeWorkload(out io.Writer, name string) {
	contended := strings.HasPrefix(name, "contended")
	fmt.Fprintf(out, "\n%s\n", name)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	heads := "contender\t/s\tof redsync\tpair p50\tp99\tmax\tlock p50\tp99\tmax\t"
	if contended {
		heads = "contender\tholds/s\tof redsync\twait p50\tp99\tmax\thandover p50\tp99\tmax\tmin/max\t"
	}
	fmt.Fprintln(table, heads+"client CPU\tserver CPU\tin scripts\tallocs\tfailed\t")
	base := r.Find(name, redsync)
	for _, result := range r.Results {
		if result.Workload != name {
			continue
		}
		s := result.Summary
		ratio := "-"
		if base != nil {
			ratio = fmt.Sprintf("%.2f", s.PerSecond/base.Summary.PerSecond)
		}
		fmt.Fprintf(table, "%s\t%.0f\t%s\t", result.Contender, s.PerSecond, ratio)
		if contended {
			fmt.Fprintf(table, "%s%s%.2f\t", cells(s.Wait), cells(s.Handover), s.Evenness)
		} else {
			fmt.Fprintf(table, "%s%s", cells(s.Pair), cells(s.Wait))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t%d\t\n", short(s.ClientCPU), short(s.ServerCPU), short(s.Scripts), s.Allocs, s.Failed)
	}
	_ = table.Flush() // as for all of this: a terminal that is gone reads no error
}

// writeCores writes what it costs that nothing happens.
func (r *Report) writeCores(out io.Writer, name string) {
	fmt.Fprintf(out, "\n%s\n", name)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "contender\tclient cores\tserver cores\tscript calls/s\t")
	for _, result := range r.Results {
		if s := result.Summary; result.Workload == name {
			fmt.Fprintf(table, "%s\t%.3f\t%.3f\t%.0f\t\n", result.Contender, s.ClientCores, s.ServerCores, s.Calls)
		}
	}
	_ = table.Flush()
}

func cells(q stats.Quantiles) string {
	return short(q.P50) + "\t" + short(q.P99) + "\t" + short(q.Max) + "\t"
}

// short is d with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
