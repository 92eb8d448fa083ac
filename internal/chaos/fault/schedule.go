package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Timed is a fault and the time at which it begins, counted from the start of the schedule.
type Timed struct {
	At    time.Duration
	Fault Fault
}

// Schedule is a list of faults, in the order in which they begin.
type Schedule []Timed

// ChangeMembers reports whether the schedule changes the members.
func (s Schedule) ChangeMembers() bool {
	return slices.ContainsFunc(s, func(t Timed) bool { return t.Fault.Kind.is(changes) })
}

// String returns the schedule on one line, with semicolons between its faults, as ParseSchedule reads it.
func (s Schedule) String() string {
	var all []string
	for _, t := range s {
		all = append(all, fmt.Sprintf("%s %s", t.At, t.Fault))
	}
	return strings.Join(all, "; ")
}

// ParseSchedule parses the result of String. Each fault may be on a line of its own, and empty lines are skipped.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		at, rest, _ := strings.Cut(line, " ")
		d, err := time.ParseDuration(at)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("fault: line %q: it must begin with a duration", line)
		}
		f, err := Parse(strings.TrimSpace(rest))
		if err != nil {
			return nil, err
		}
		if len(s) > 0 && s[len(s)-1].At > d {
			return nil, fmt.Errorf("fault: line %q: it is earlier than the one before", line)
		}
		s = append(s, Timed{At: d, Fault: f})
	}
	return s, nil
}

// Run applies each fault at its time, and returns once all faults are healed. When ctx ends, no further fault begins,
// and all faults are healed immediately. The error joins the errors of Apply, except for the error of ctx.
func (s Schedule) Run(ctx context.Context, env *Env) error {
	began := time.Now()
	errs := make([]error, len(s))
	var wg sync.WaitGroup
	for i, t := range s {
		Wait(ctx, t.At-time.Since(began))
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() { errs[i] = t.Fault.Apply(ctx, env) })
	}
	wg.Wait()
	for i, err := range errs {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// InModel reports whether each fault is in the model, and at most a minority of this number of
// members is unreliable at any time. A member that loses data or is changed stays unreliable for a
// quarantine after the fault. Every fault may take Slack longer than its span.
func (s Schedule) InModel(masters int, quarantine time.Duration) bool {
	var until [64]time.Duration
	var weak Masters
	for _, t := range s {
		if !t.Fault.InModel(masters) {
			return false
		}
		some, during := t.Fault.unsure(weak, quarantine)
		weak = t.Fault.weakens(weak)
		if some == 0 {
			continue
		}
		for _, n := range some.Numbers() {
			until[n] = max(until[n], t.At+during)
		}
		unsure := 0
		for _, end := range until {
			if end > t.At {
				unsure++
			}
		}
		if unsure > Minority(masters) {
			return false
		}
	}
	return true
}

// Slack is how much longer than its span a fault may take: processes start and stop, and faults
// wait for each other.
const Slack = 2 * time.Second
