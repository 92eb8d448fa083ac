package fault

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Round returns the faults of one round of chaos. The faults are within the fault model for the duration inModel, and
// then out of the model for the duration outOfModel, which may be 0.
func Round(seed uint64, p Plan, inModel, outOfModel time.Duration) Schedule {
	within, without := p, p
	within.InModel, within.For = true, inModel-Slack
	if outOfModel == 0 {
		return fewerAtOnce(seed, within)
	}
	provoked := outOfModel * 2 / 3
	without.InModel, without.For = false, outOfModel-provoked-Slack
	s := fewerAtOnce(seed, within)
	s = append(s, provoke(seed, p, provoked).After(inModel)...)
	return append(s, noticed(fewerAtOnce(seed+1, without)).After(inModel+provoked)...)
}

// noticed removes the faults after which a loss of data may stay unnoticed. Out of the model, such a fault may hit a
// majority. But tokens must grow in all phases, which needs a majority that kept its counters or recorded the loss.
func noticed(s Schedule) Schedule {
	return slices.DeleteFunc(s, func(t Timed) bool {
		return t.Fault.Kind == Promote || t.Fault.Kind == Restore || t.Fault.Kind == OldFile
	})
}

// fewerAtOnce is like Generate, but all kinds come at once only in the last sixth of the time, not in the last third.
// While all kinds come at once, hardly any lock is acquired.
func fewerAtOnce(seed uint64, p Plan) Schedule {
	all := p.For
	p.For = all * 5 / 4
	return Generate(seed, p).Before(all)
}

// provoke returns faults that cause overlapping holds and stale writes, again and again: the clocks of a
// majority jump, which ends leases early, and half of the clients are stopped for longer than their leases. A
// random schedule might have none of these. provoke returns no faults for a single client, which has no rival.
func provoke(seed uint64, p Plan, within time.Duration) (s Schedule) {
	if len(p.Clients) < 2 {
		return nil
	}
	stop, period := 5*p.TTL/2, 4*p.TTL
	chance := rand.New(rand.NewPCG(seed, 1))
	for at := p.TTL; at+period < within; at += period {
		majority := MastersOf(chance.Perm(p.Masters)[:p.Masters/2+1]...)
		var half []string
		for _, i := range chance.Perm(len(p.Clients))[:len(p.Clients)/2] {
			half = append(half, p.Clients[i])
		}
		s = append(s,
			Timed{At: at, Fault: Fault{Kind: Clock, Masters: majority, Offset: 5 * p.TTL, Span: p.TTL}},
			Timed{At: at + p.TTL, Fault: Fault{Kind: StopClient, Clients: ClientsOf(half...), Span: stop}})
	}
	return s
}

// Before returns the faults that begin before the given time.
func (s Schedule) Before(at time.Duration) (part Schedule) {
	for _, t := range s {
		if t.At < at {
			part = append(part, t)
		}
	}
	return part
}

// From returns the faults that begin at the given time or later. In the result, their times count from the given time.
func (s Schedule) From(at time.Duration) Schedule { return s[len(s.Before(at)):].After(-at) }

// After returns the schedule with each fault delayed by d.
func (s Schedule) After(d time.Duration) (later Schedule) {
	for _, t := range s {
		later = append(later, Timed{At: t.At + d, Fault: t.Fault})
	}
	return later
}
