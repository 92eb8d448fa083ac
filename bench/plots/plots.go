// Command plots draws what the benchmarks of package growth printed, an SVG file a row:
//
//	go run . growth.txt FOLDER
//
// It is a module of its own, so that only who wants plots builds what draws them.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("two arguments are needed: a file with the output of the benchmarks, and a folder for the plots")
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = drawAll(text, os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// row is one benchmark: points by unit.
type row struct {
	units  []string
	points map[string]plotter.XYs
}

// drawAll draws all rows.
func drawAll(text []byte, dir string) error {
	rows, err := read(text)
	if err == nil && len(rows) == 0 {
		err = errors.New("there is no line of BenchmarkGrowth")
	}
	for name, r := range rows {
		err = errors.Join(err, r.draw(name, filepath.Join(dir, "growth-"+name+".svg")))
	}
	return err
}

// read reads lines such as "BenchmarkGrowth/names-held/n=100-2 1 18730 client-B/name 39 client-µs/renewal".
func read(text []byte) (map[string]*row, error) {
	rows := map[string]*row{}
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) < 2 || !strings.HasPrefix(words[0], "BenchmarkGrowth/") || !strings.Contains(words[0], "/n=") {
			continue
		}
		name, at, _ := strings.Cut(strings.TrimPrefix(words[0], "BenchmarkGrowth/"), "/n=")
		at, _, _ = strings.Cut(at, "-") // GOMAXPROCS
		n, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", words[0], err)
		}
		r := rows[name]
		if r == nil {
			r = &row{points: map[string]plotter.XYs{}}
			rows[name] = r
		}
		for pair := range slices.Chunk(words[2:], 2) {
			value, err := strconv.ParseFloat(pair[0], 64)
			if err != nil || len(pair) < 2 {
				return nil, fmt.Errorf("%s: no value and unit: %q", words[0], pair)
			}
			if pair[1] == "ns/op" { // one call, in which all was measured
				continue
			}
			if !slices.Contains(r.units, pair[1]) {
				r.units = append(r.units, pair[1])
			}
			r.points[pair[1]] = append(r.points[pair[1]], plotter.XY{X: n, Y: value})
		}
	}
	return rows, nil
}

const (
	panelWidth  = 3 * vg.Inch
	panelHeight = 2.5 * vg.Inch
	titleHeight = 0.3 * vg.Inch
	columns     = 3
)

// draw draws a panel for each unit. Each begins at 0, so that what looks flat is.
func (r *row) draw(name, path string) error {
	var panels [][]*plot.Plot // by line
	for i, unit := range r.units {
		p, err := panel(unit, r.points[unit])
		if err != nil {
			return err
		}
		if i%columns == 0 {
			panels = append(panels, make([]*plot.Plot, columns))
		}
		panels[i/columns][i%columns] = p
	}
	canvas, err := draw.NewFormattedCanvas(panelWidth*columns, panelHeight*vg.Length(len(panels))+titleHeight, "svg")
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	style := plot.New().Title.TextStyle
	style.YAlign = draw.YTop
	all.FillText(style, vg.Point{X: all.Center().X, Y: all.Max.Y - vg.Points(4)}, name)
	space := vg.Points(12)
	tiles := draw.Tiles{Rows: len(panels), Cols: columns, PadX: space, PadY: space, PadTop: titleHeight, PadRight: space}
	at := plot.Align(panels, tiles, all)
	for i, line := range panels {
		for k, p := range line {
			if p != nil {
				p.Draw(at[i][k])
			}
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(file)
	return errors.Join(err, file.Close())
}

// panel draws points over n, on a logarithmic axis.
func panel(unit string, points plotter.XYs) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "n", unit
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.Color, dots.Color, dots.Shape = plotutil.Color(0), plotutil.Color(0), plotutil.Shape(0)
	p.Add(line, dots)
	var ticks plot.ConstantTicks
	const labels = 5
	every := (len(points) + labels - 1) / labels
	highest := 0.0
	for i, at := range points {
		tick := plot.Tick{Value: at.X}
		if i%every == 0 {
			tick.Label = strconv.Itoa(int(at.X))
		}
		ticks = append(ticks, tick)
		highest = max(highest, at.Y)
	}
	if highest == 0 {
		highest = 1
	}
	const margin = 1.1 // also for a single point, as an axis needs a length
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks
	p.X.Min, p.X.Max = points[0].X/margin, points[len(points)-1].X*margin
	p.Y.Min, p.Y.Max = 0, highest*margin
	return p, nil
}
