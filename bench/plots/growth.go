package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/redlock-go/redlock/bench/internal/growth"
)

// drawGrowth draws growth.json, if there is one: a plot a row.
func drawGrowth(dir string) (found bool, err error) {
	var r growth.Report
	if found, err := read(dir, "growth.json", &r); !found || err != nil {
		return found, err
	}
	var errs []error
	for _, row := range r.Rows {
		if len(row.Points) > 0 {
			errs = append(errs, drawRow(row, filepath.Join(dir, growthFile(row.Name))))
		}
	}
	return true, errors.Join(errs...)
}

// growthFile is where the plot of a row is.
func growthFile(row string) string { return "growth-" + row + ".svg" }

const (
	panelWidth  = 3 * vg.Inch
	panelHeight = 2.5 * vg.Inch
	titleHeight = 0.3 * vg.Inch
	columns     = 3
)

// drawRow draws a panel for each unit. Each begins at 0, so that what looks flat is.
func drawRow(row *growth.Result, path string) error {
	var panels [][]*plot.Plot // by line
	for i, unit := range units(row) {
		p, err := drawPanel(row, unit)
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
	all.FillText(style, vg.Point{X: all.Center().X, Y: all.Max.Y - vg.Points(4)}, row.Title)
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

func units(row *growth.Result) (all []string) {
	for _, f := range row.Figures {
		if !slices.Contains(all, f.Unit) {
			all = append(all, f.Unit)
		}
	}
	return all
}

// drawPanel draws the figures of one unit over n, on a logarithmic axis.
func drawPanel(row *growth.Result, unit string) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = row.Of, unit
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks(row)
	highest, drawn := 0.0, 0
	for i, f := range row.Figures {
		if f.Unit != unit {
			continue
		}
		var points plotter.XYs
		for _, at := range row.Points {
			points = append(points, plotter.XY{X: float64(at.N), Y: at.Values[i]})
			highest = max(highest, at.Values[i])
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color, dots.Shape = plotutil.Color(drawn), plotutil.Color(drawn), plotutil.Shape(drawn)
		p.Add(line, dots)
		p.Legend.Add(f.Name, line, dots)
		drawn++
	}
	p.Legend.Top, p.Legend.Left = true, true
	if highest == 0 {
		highest = 1
	}
	p.Y.Min, p.Y.Max = 0, highest*(1.15+.1*float64(drawn)) // room for the legend
	first, last := float64(row.Points[0].N), float64(row.Points[len(row.Points)-1].N)
	const margin = 1.1 // also for a single point, as an axis needs a length
	p.X.Min, p.X.Max = first/margin, last*margin
	return p, nil
}

// ticks marks where was measured, with a label where there is room.
func ticks(row *growth.Result) plot.Ticker {
	var all plot.ConstantTicks
	const labels = 5
	every := int(math.Ceil(float64(len(row.Points)) / labels))
	for i, p := range row.Points {
		tick := plot.Tick{Value: float64(p.N)}
		if i%every == 0 {
			tick.Label = strconv.Itoa(p.N)
		}
		all = append(all, tick)
	}
	return all
}
