package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
)

// Init lets all masters vote, with their counters at the highest of all, and at floor
// at least. All must answer: missing tells which do not.
func (g *Group) Init(floor int64) (missing, err error) {
	hellos, reasons := g.askAll()
	if missing := g.named(reasons); missing != nil {
		return missing, nil // before anything is noted on those that are there
	}
	surveys := g.surveyAll(g.survey, hellos, reasons)
	if missing := g.named(reasons); missing != nil {
		return missing, nil
	}
	plan := Plan{Floors: make([][]int64, len(surveys)), out: make([]error, len(surveys))}
	together := highest(surveys, floor)
	for i := range surveys {
		plan.Floors[i] = together
	}
	return nil, g.named(g.carryOut(surveys, plan))
}

// State is what is known of a master before init.
type State struct {
	Master   string // its address
	State    string // in words: whether it may vote, or what became of it
	Lost     int    // of its Counters, how many are missing or corrupt
	Counters int
	Err      error // why init cannot do without it; the rest is not known then
}

// Inspect tells of all masters, and changes nothing. missing tells which do not answer.
func (g *Group) Inspect() (states []State, missing error) {
	hellos, reasons := g.askAll()
	surveys := g.surveyAll(g.look, hellos, reasons)
	for i, m := range g.Masters {
		is := State{Master: m.Name, Err: printable.Error(reasons[i])}
		if s := surveys[i]; s != nil {
			is.State, is.Lost, is.Counters = s.state(), s.lost(), len(s.Counters)
		}
		states = append(states, is)
	}
	return states, g.named(reasons)
}

// named joins errors, one a master, each with its master's name.
func (g *Group) named(errs []error) (all error) {
	for i, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = fmt.Errorf("%s: %w", g.Masters[i].Name, printable.Error(err))
		default:
			all = fmt.Errorf("%w; %s: %w", all, g.Masters[i].Name, printable.Error(err))
		}
	}
	return all
}

// state tells an operator what became of the server.
func (s *Survey) state() string {
	switch {
	case s.in:
		return "may vote"
	case s.admitted == "":
		return "was never used, or lost all its data"
	case slices.Equal(strings.Fields(s.admitted), []string{"out", s.Run, s.Since}):
		return fmt.Sprintf("restarted or lost data %v ago", s.outFor.Round(time.Second))
	case admittedFormat.MatchString(s.admitted), strings.HasPrefix(s.admitted, "out "):
		return "restarted"
	}
	return fmt.Sprintf("its note of who may vote is corrupt: %q", s.admitted)
}
