// Package report prints the measurements in three ways: as a table; in the format of Go's benchmarks,
// which benchstat reads; and compared with the aims.
package report

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// Subject is a contender under a workload.
type Subject struct{ Workload, Contender string }

// Report has the cells of a run: for each subject, the cells of all repetitions.
type Report map[Subject][]workload.Cell

// figure is one number of a cell.
type figure struct {
	head string // the head of its column
	unit string // its unit for benchstat
	of   func(workload.Cell) float64
}

var (
	perSecond = figure{"/s", "pairs/s", func(c workload.Cell) float64 { return c.PerSecond }}
	pairP50   = figure{"pair p50", "p50-µs", func(c workload.Cell) float64 { return micros(c.PairP50) }}
	pairP99   = figure{"p99", "p99-µs", func(c workload.Cell) float64 { return micros(c.PairP99) }}
	waitP50   = figure{"wait p50", "wait-p50-µs", func(c workload.Cell) float64 { return micros(c.WaitP50) }}
	waitP99   = figure{"p99", "wait-p99-µs", func(c workload.Cell) float64 { return micros(c.WaitP99) }}
	evenness  = figure{"least/most", "least/most", func(c workload.Cell) float64 { return c.Evenness }}
	clientCPU = figure{"client CPU", "client-µs/op", func(c workload.Cell) float64 { return micros(c.ClientCPU) }}
	serverCPU = figure{"server CPU", "server-µs/op", func(c workload.Cell) float64 { return micros(c.ServerCPU) }}
	allocs    = figure{"allocs", "allocs/op", func(c workload.Cell) float64 { return c.Allocs }}
	failed    = figure{"failed", "failed", func(c workload.Cell) float64 { return float64(c.Failed) }}

	figures = []figure{perSecond, pairP50, pairP99, waitP50, waitP99, evenness, clientCPU, serverCPU, allocs, failed}
)

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }

// Head returns the description of the machine, in the format of Go's benchmarks.
func Head() string {
	head := fmt.Sprintf("goos: %s\ngoarch: %s\n", runtime.GOOS, runtime.GOARCH)
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpuinfo)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			head += fmt.Sprintf("cpu: %s, %d of them\n", strings.TrimSpace(value), runtime.NumCPU())
			break
		}
	}
	if version, err := exec.Command("redis-server", "--version").Output(); err == nil {
		head += fmt.Sprintf("redis: %s", version)
	}
	return head + fmt.Sprintf("go: %s\n", runtime.Version())
}

// Line returns one cell, in the format of Go's benchmarks.
func Line(s Subject, c workload.Cell) string {
	line := fmt.Sprintf("BenchmarkLock/workload=%s/contender=%s\t%.0f", s.Workload, s.Contender, c.Pairs)
	for _, f := range figures {
		line += fmt.Sprintf("\t%g %s", f.of(c), f.unit)
	}
	return line + "\n"
}

// median returns the median of the cells.
func (f figure) median(cells []workload.Cell) float64 {
	var values []float64
	for _, c := range cells {
		values = append(values, f.of(c))
	}
	return workload.Quantile(values, .5)
}

// WriteTable writes a table for each workload, with the medians of the repetitions. Times are in µs.
func (r Report) WriteTable(out io.Writer) {
	for _, w := range workload.All {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		heads := "\n" + w.Name + "\t"
		for _, f := range figures {
			heads += f.head + "\t"
		}
		for _, c := range contender.All {
			cells := r[Subject{w.Name, c.Name}]
			if len(cells) == 0 {
				continue
			}
			if heads != "" {
				fmt.Fprintln(table, heads)
				heads = ""
			}
			fmt.Fprintf(table, "%s\t", c.Name)
			for _, f := range figures {
				fmt.Fprintf(table, "%s\t", short(f.median(cells)))
			}
			fmt.Fprintln(table)
		}
		_ = table.Flush() // nobody would read the error
	}
}

// short formats v with at least three digits.
func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
