package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// question is one for Porcupine: did what it is about behave like the model?
type question struct {
	about      string
	model      porcupine.Model
	operations []porcupine.Operation
}

// linear asks all questions, one name and one register at a time.
func linear(r *record, b Bounds, v *Verdict) {
	var questions []question
	for _, name := range r.names {
		questions = append(questions,
			question{name + " as a lock that expires", ttlLock, ttlOperations(r, b, name)},
			question{name + " as a reentrant lock with tokens", fencedLock, fencedOperations(r, b, name)})
	}
	for _, at := range r.registers {
		if guarded(at) {
			questions = append(questions, question{
				fmt.Sprintf("%s of the store %q as a register behind a fence", at.name, at.store),
				fencedRegister, registerOperations(r, b, at)})
		}
	}
	for _, q := range questions {
		q.ask(r, b, v)
	}
}

func (q question) ask(r *record, b Bounds, v *Verdict) {
	v.Linearized += len(q.operations)
	switch porcupine.CheckOperationsTimeout(q.model, q.operations, b.Decide) {
	case porcupine.Ok:
	case porcupine.Unknown:
		v.violate(Undecided, r.horizon, "%s: %d operations could not be put in order within %s", q.about, len(q.operations), b.Decide)
	case porcupine.Illegal:
		at, what := q.stuck(b)
		v.violate(Linear, at, "%s: %s", q.about, what)
	}
}

// stuck tells which operation does not fit behind the longest order of the others that there is.
func (q question) stuck(b Bounds) (at time.Duration, what string) {
	_, info := porcupine.CheckOperationsVerbose(q.model, q.operations, b.Decide)
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	state := q.model.Init()
	ordered := map[any]bool{}
	for _, op := range longest {
		_, state = q.model.Step(state, op.Input, op.Output)
		ordered[op.Input] = true
	}
	left := slices.DeleteFunc(slices.Clone(q.operations), func(op porcupine.Operation) bool { return ordered[op.Input] })
	first := slices.MinFunc(left, func(a, b porcupine.Operation) int { return int(a.Return - b.Return) })
	return time.Duration(first.Return), fmt.Sprintf("after %d operations it is %s, and then %s (from %s to %s) cannot be explained",
		len(longest), q.model.DescribeState(state), q.model.DescribeOperation(first.Input, first.Output),
		seconds(time.Duration(first.Call)), seconds(time.Duration(first.Return)))
}
