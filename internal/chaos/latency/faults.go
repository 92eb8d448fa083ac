package latency

import (
	"math"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// faults are what was wrong in a history, and when.
type faults struct {
	masters int
	all     []failure
	inModel []span
}

type failure struct {
	kind fault.Kind
	hits fault.Masters
	span
	failed bool // it could not be applied; what it did before is not known
}

type span struct{ from, to time.Duration }

const never = time.Duration(math.MaxInt64)

func (s span) meets(from, to time.Duration) bool { return s.from <= to && from <= s.to }
func (s span) has(from, to time.Duration) bool   { return s.from <= from && to <= s.to }

func faultsOf(events []history.Event, masters int) faults {
	f := faults{masters: masters}
	begun := map[string][]int{} // by text
	phase := ""
	for _, e := range events {
		switch e.Kind {
		case history.PhaseBegins:
			if phase == history.InModel {
				f.inModel[len(f.inModel)-1].to = e.At
			}
			if phase = e.Phase; phase == history.InModel {
				f.inModel = append(f.inModel, span{e.At, never})
			}
		case history.FaultBegins:
			begun[e.Fault] = append(begun[e.Fault], len(f.all))
			f.all = append(f.all, failureOf(e))
		case history.FaultEnds:
			if first := begun[e.Fault]; len(first) > 0 {
				f.all[first[0]].to, f.all[first[0]].failed = e.At, e.Err != ""
				begun[e.Fault] = first[1:]
			}
		}
	}
	return f
}

func failureOf(e history.Event) failure {
	is := failure{span: span{e.At, never}}
	one, err := fault.Parse(e.Fault)
	if err != nil { // of another program
		is.kind = fault.KindOf(e.Fault)
		return is
	}
	is.kind, is.hits = one.Kind, one.Masters
	return is
}

// classOf returns the class of a time of a client that does not name some members, unless faults of
// several kinds were under way, or one that could not be applied, the last one has just ended, or
// it is not all within the model.
func (f faults) classOf(lacks fault.Masters, from, to time.Duration) (c Class, ok bool) {
	within := false
	for _, s := range f.inModel {
		within = within || s.has(from, to)
	}
	if !within {
		return c, false
	}
	lately := false
	var hits fault.Masters
	for _, one := range f.all {
		switch {
		case one.meets(from, to):
			if one.failed || c.Kind != "" && c.Kind != one.kind {
				return c, false
			}
			c.Kind = one.kind
			hits |= one.hits
		case one.meets(from-after, to):
			lately = true
		}
	}
	if c.Kind == "" {
		return c, !lately
	}
	switch {
	case hits == 0:
	case (hits | lacks).Count() > fault.Minority(f.masters):
		c.Hits = More
	default:
		c.Hits = Minority
	}
	return c, true
}
