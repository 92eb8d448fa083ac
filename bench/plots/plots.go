// Command plots draws the results of a run into SVG files beside them:
//
//	go run . FOLDER    # which has results.json, growth.json or both
//
// It is a module of its own, so that only who wants plots builds what draws them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("one argument is needed: the folder with results.json or growth.json")
	}
	if err := drawAll(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// drawAll draws what the files in the folder say was measured.
func drawAll(dir string) error {
	results, err := drawResults(dir)
	if err != nil {
		return err
	}
	growth, err := drawGrowth(dir)
	if err == nil && !results && !growth {
		err = fmt.Errorf("%s has neither results.json nor growth.json", dir)
	}
	return err
}

// read reads what a file of the folder has, if there is one.
func read(dir, name string, into any) (found bool, err error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, json.Unmarshal(text, into)
}

// drawResults draws results.json, if there is one.
func drawResults(dir string) (found bool, err error) {
	var r results
	if found, err := read(dir, "results.json", &r); !found || err != nil {
		return found, err
	}
	errs := []error{r.drawMasters(filepath.Join(dir, "masters.svg"))}
	for _, c := range charts() {
		errs = append(errs, r.draw(c, filepath.Join(dir, c.file)))
	}
	return true, errors.Join(errs...)
}

type results struct{ report.Report }

// figure is one cell's measure of something.
type figure func(workload.Cell) float64

func perSecond(c workload.Cell) float64 { return c.PerSecond }
func clientCPU(c workload.Cell) float64 { return float64(c.ClientCPU) }
func waitP99(c workload.Cell) float64   { return float64(c.Wait.P99) }

// chart is bars on a logarithmic axis: a group a workload, a bar a contender.
type chart struct {
	file, title, axis string
	workloads         []string
	of                figure
}

func milliseconds(of figure) figure {
	return func(c workload.Cell) float64 { return of(c) / float64(time.Millisecond) }
}

func handoverP50(c workload.Cell) float64 { return float64(c.Handover.P50) }

func charts() []chart {
	var contended, faults, links []string
	for _, w := range workload.All() {
		switch {
		case w.Contended && w.Hold > 0:
			contended = append(contended, w.Name)
		case w.Redis.Fault != "":
			faults = append(faults, w.Name)
		case w.Redis.RoundTrip > 0:
			links = append(links, w.Name)
		}
	}
	healthy := []string{workload.Series, workload.Distinct, workload.Many}
	return []chart{
		{"throughput.svg", "Pairs a second, distinct names", "pairs/s", healthy, perSecond},
		{"client-cpu.svg", "Client CPU a pair", "ms", healthy, milliseconds(clientCPU)},
		{"contended.svg", "Holds a second of one name, held for 1 ms", "holds/s", contended, perSecond},
		{"wait-p99.svg", "Wait for a contended name, p99", "ms", contended, milliseconds(waitP99)},
		{"handover.svg", "From release to the next hold, p50", "ms", contended, milliseconds(handoverP50)},
		{"faults.svg", "Lock p99 with one of five masters sick", "ms", append([]string{workload.Series, workload.Distinct}, faults...), milliseconds(waitP99)},
		{"links.svg", "Pairs a second over a network", "pairs/s", links, perSecond},
	}
}

const barWidth = 7 // points

// colorOf gives each contender a color of its own, the same in all plots.
func colorOf(name string) color.Color {
	const most = 12
	palette, err := brewer.GetPalette(brewer.TypeQualitative, "Paired", most)
	if err != nil {
		panic(err) // it has as many
	}
	colors := append(palette.Colors(), color.Black) // there are no more contenders
	i := slices.IndexFunc(contender.All, func(c contender.Contender) bool { return c.Name == name })
	return colors[i]
}

// fromLow is a logarithmic scale on which bars begin at the lower end: they are drawn from 0, which
// has no logarithm.
type fromLow struct{}

func (fromLow) Normalize(low, high, x float64) float64 {
	return plot.LogScale{}.Normalize(low, high, max(x, low))
}

func (r *results) draw(c chart, path string) error {
	var workloads, labels []string
	for _, name := range c.workloads {
		if slices.ContainsFunc(r.Results, func(x *report.Result) bool { return x.Workload == name }) {
			workloads = append(workloads, name)
			labels = append(labels, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(name, "contended-"), "-hold-1ms"), "-", "\n"))
		}
	}
	if len(workloads) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = c.title, c.axis
	p.Legend.Top, p.Legend.Left = true, true // text that is wider than thought has room on its right
	lowest := r.lowest(workloads, c.of)
	if lowest == 0 {
		return nil
	}
	low := math.Pow10(int(math.Floor(math.Log10(lowest / 2)))) // where the bars begin
	var shown []contender.Contender
	for _, x := range contender.All {
		if slices.ContainsFunc(workloads, func(name string) bool { return r.Find(name, x.Name) != nil }) {
			shown = append(shown, x)
		}
	}
	for i, x := range shown {
		values := make(plotter.Values, len(workloads))
		for k, name := range workloads {
			if result := r.Find(name, x.Name); result != nil {
				values[k] = c.of(result.Summary)
			}
		}
		bars, err := plotter.NewBarChart(values, vg.Points(barWidth))
		if err != nil {
			return err
		}
		bars.Color = colorOf(x.Name)
		bars.LineStyle.Width = 0
		bars.Offset = vg.Points(barWidth * (float64(i) - float64(len(shown)-1)/2))
		p.Add(bars)
		p.Legend.Add(x.Name, bars)
	}
	p.NominalX(labels...)
	p.Y.Scale, p.Y.Tick.Marker, p.Y.Min = fromLow{}, plot.LogTicks{Prec: -1}, low
	p.Y.Max *= math.Pow(10, .25*float64(len(shown))) // room for the legend
	p.X.Max += .4
	return p.Save(vg.Points(float64(200+len(workloads)*(len(shown)+3)*barWidth)), 4.5*vg.Inch, path)
}

// lowest is the smallest figure above 0.
func (r *results) lowest(workloads []string, of figure) float64 {
	low := 0.0
	for _, result := range r.Results {
		if v := of(result.Summary); slices.Contains(workloads, result.Workload) && v > 0 && (low == 0 || v < low) {
			low = v
		}
	}
	return low
}

// drawMasters draws pairs a second over the number of masters.
func (r *results) drawMasters(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "64 workers on distinct names", "masters", "pairs/s"
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Min = 0
	drawn := 0
	for _, c := range contender.All {
		if c.Needs != contender.AllMasters {
			continue
		}
		var points plotter.XYs
		for _, result := range r.Results {
			if result.Contender == c.Name && (result.Workload == workload.Distinct || strings.HasPrefix(result.Workload, workload.Distinct+"-n")) {
				points = append(points, plotter.XY{X: float64(result.Masters), Y: result.Summary.PerSecond})
			}
		}
		if len(points) < 2 {
			continue
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X - b.X) })
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color = colorOf(c.Name), colorOf(c.Name)
		p.Add(line, dots)
		p.Legend.Add(c.Name, line, dots)
		drawn++
	}
	if drawn == 0 {
		return nil
	}
	return p.Save(6*vg.Inch, 4*vg.Inch, path)
}
