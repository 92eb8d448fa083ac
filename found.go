package redlock

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
)

// init lets all masters vote, with their counters at the highest of all, and at floor
// at least. All must answer: missing tells which do not.
func (a *admission) init(floor int64) (missing, err error) {
	hellos, reasons := a.askAll()
	if missing := a.named(reasons); missing != nil {
		return missing, nil // before anything is noted on those that are there
	}
	surveys := a.surveyAll(a.survey, hellos, reasons)
	if missing := a.named(reasons); missing != nil {
		return missing, nil
	}
	plan := admissionPlan{floors: make([][]int64, len(surveys)), out: make([]error, len(surveys))}
	together := highest(surveys, floor)
	for i := range surveys {
		plan.floors[i] = together
	}
	return nil, a.named(a.carryOut(surveys, plan))
}

// masterState is what is known of a master before init.
type masterState struct {
	Master   string // its address
	State    string // in words: whether it may vote, or what became of it
	Lost     int    // of its Counters, how many are missing or corrupt
	Counters int
	Err      error // why init cannot do without it; the rest is not known then
}

// inspect tells of all masters, and changes nothing. missing tells which do not answer.
func (a *admission) inspect() (states []masterState, missing error) {
	hellos, reasons := a.askAll()
	surveys := a.surveyAll(a.look, hellos, reasons)
	for i, m := range a.masters {
		is := masterState{Master: m.Name, Err: printable.Error(reasons[i])}
		if s := surveys[i]; s != nil {
			is.State, is.Lost, is.Counters = s.state(), s.lost(), len(s.counters)
		}
		states = append(states, is)
	}
	return states, a.named(reasons)
}

// named joins errors, one a master, each with its master's name.
func (a *admission) named(errs []error) (all error) {
	for i, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = fmt.Errorf("%s: %w", a.masters[i].Name, printable.Error(err))
		default:
			all = fmt.Errorf("%w; %s: %w", all, a.masters[i].Name, printable.Error(err))
		}
	}
	return all
}

// state tells an operator what became of the server.
func (s *survey) state() string {
	switch {
	case s.in:
		return "may vote"
	case s.admitted == "":
		return "was never used, or lost all its data"
	case slices.Equal(strings.Fields(s.admitted), []string{"out", s.run, s.since}):
		return fmt.Sprintf("restarted or lost data %v ago", s.outFor.Round(time.Second))
	case admittedFormat.MatchString(s.admitted), strings.HasPrefix(s.admitted, "out "):
		return "restarted"
	}
	return fmt.Sprintf("its note of who may vote is corrupt: %q", s.admitted)
}
