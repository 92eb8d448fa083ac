package growth

import (
	"context"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // masters are restarted
	os.Exit(m.Run())
}

// Each row measures all of its figures, of the least work.
func TestEveryRowMeasures(t *testing.T) {
	t.Parallel()
	for _, row := range All() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			s := Settings{Rows: regexp.MustCompile("^" + row.Name + "$"), Most: 1, Cell: 500 * time.Millisecond}
			r := NewReport(nil)
			if err := Measure(s, r, t.Logf); err != nil {
				t.Fatal(err)
			}
			var table strings.Builder
			r.WriteTable(&table)
			if len(r.Rows) != 1 || len(r.Rows[0].Points) != 1 {
				t.Fatalf("%d rows were measured, want 1 with a point:\n%s", len(r.Rows), &table)
			}
			values := r.Rows[0].Points[0].Values
			if len(values) != len(row.Figures) {
				t.Fatalf("%d values of %d figures", len(values), len(row.Figures))
			}
			if !slices.ContainsFunc(values, func(v float64) bool { return v > 0 }) {
				t.Errorf("nothing costs anything: %v", values)
			}
			for i, v := range values {
				if math.IsNaN(v) || math.IsInf(v, 0) { // memory may be below 0: other tests give some back
					t.Errorf("%s is %v %s", row.Figures[i].Name, v, row.Figures[i].Unit)
				}
				if !strings.Contains(table.String(), row.Figures[i].Name) {
					t.Errorf("the table does not tell %s:\n%s", row.Figures[i].Name, &table)
				}
			}
		})
	}
}

func TestPoints(t *testing.T) {
	t.Parallel()
	row := Row{ns: []int{10, 100, 1000}, usual: 100}
	for most, want := range map[int][]int{0: {10, 100}, 3: {3}, 10: {10}, 999: {10, 100}, 1000: {10, 100, 1000}, 1 << 30: {10, 100, 1000}} {
		if got := row.points(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
}

// A row that fails is told, and keeps what was measured before; a pattern of no row is told.
func TestWhatFailsIsTold(t *testing.T) {
	t.Parallel()
	if err := Measure(Settings{Rows: regexp.MustCompile("^nothing$")}, NewReport(nil), t.Logf); err == nil || !strings.Contains(err.Error(), `"^nothing$"`) {
		t.Error(err)
	}
	row := Row{Name: "row", Of: "things", ns: []int{1, 2, 3}, usual: 3, Figures: []Figure{{"cost", "µs"}}, measure: func(n int, _ Settings) ([]float64, error) {
		if n == 2 {
			return nil, io.ErrUnexpectedEOF
		}
		return []float64{1}, nil
	}}
	result, err := row.measureAll(Settings{}, t.Logf)
	if err == nil || !strings.Contains(err.Error(), "row, 2 things: unexpected EOF") || len(result.Points) != 1 {
		t.Errorf("%v, %+v", err, result)
	}
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
