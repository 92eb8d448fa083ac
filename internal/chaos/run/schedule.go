//go:build unix

package run

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
)

// The masters are the founders of the deployment, and spares.
const (
	masterCount = 5
	spareCount  = 2
)

// schedule returns the faults of a round, since its start; those that begin before
// p.inModel are within the fault model. They are the ones that were pasted, or drawn
// from the seed.
func (c Config) schedule(seed uint64, p phases) (fault.Schedule, error) {
	if sc := c.scenario(); sc != nil || c.Faults != "" {
		s, err := parseFaults(cmp.Or(c.Faults, sc.faults()))
		if err == nil && sc == nil && !before(s, p.inModel).InModel(masterCount, maxTTL) {
			err = fmt.Errorf("chaos: the faults before %v are to be within the fault model, and are not", p.inModel)
		}
		return s, err
	}
	within := fault.Plan{
		Masters: masterCount, Spares: spareCount, Clients: clientNames(), TTL: ttl, InModel: true, Quarantine: quarantine,
		For: p.inModel - fault.Slack,
	}
	provoked := p.outOfModel * 2 / 3
	without := within
	without.InModel, without.For = false, p.outOfModel-provoked-fault.Slack
	s := generate(seed, within)
	s = append(s, after(provoke(seed, provoked), p.inModel)...)
	return append(s, after(noticed(generate(seed+1, without)), p.inModel+provoked)...), nil
}

// noticed leaves out what makes masters forget without anybody noticing. Outside of
// the model nothing bounds how many are hit at a time, and what tokens rest on holds
// in all phases: a majority keeps its counters, or knows that it lost them.
func noticed(s fault.Schedule) fault.Schedule {
	return slices.DeleteFunc(s, func(t fault.Timed) bool {
		return t.Fault.Kind == fault.Truncate || t.Fault.Kind == fault.Promote
	})
}

// generate is fault.Generate with the last third of its schedule, in which all kinds
// come at once, cut to a sixth: while they do, next to nothing is ever locked.
func generate(seed uint64, p fault.Plan) fault.Schedule {
	all := p.For
	p.For = all * 5 / 4
	return before(fault.Generate(seed, p), all)
}

// provoke returns what makes two hold at a time and writes stale, again and again: a
// majority of the clocks jumps, which ends leases before their time; half of the
// clients are stopped for longer than their leases. Drawn at random, they might not
// come.
func provoke(seed uint64, within time.Duration) (s fault.Schedule) {
	const stop, period = 5 * ttl / 2, 4 * ttl
	chance := rand.New(rand.NewPCG(seed, 1))
	for at := ttl; at+period < within; at += period {
		majority := fault.MastersOf(chance.Perm(masterCount)[:masterCount/2+1]...)
		var half []string
		for _, i := range chance.Perm(clientCount)[:clientCount/2] {
			half = append(half, clientName(i))
		}
		s = append(s,
			fault.Timed{At: at, Fault: fault.Fault{Kind: fault.Clock, Masters: majority, Offset: 5 * ttl, Span: ttl}},
			fault.Timed{At: at + ttl, Fault: fault.Fault{Kind: fault.StopClient, Clients: fault.ClientsOf(half...), Span: stop}})
	}
	return s
}

func before(s fault.Schedule, at time.Duration) (part fault.Schedule) {
	for _, t := range s {
		if t.At < at {
			part = append(part, t)
		}
	}
	return part
}

// from returns those that begin at or later, counted from there.
func from(s fault.Schedule, at time.Duration) (part fault.Schedule) {
	return after(s[len(before(s, at)):], -at)
}

// after returns the schedule, begun later by d.
func after(s fault.Schedule, d time.Duration) (later fault.Schedule) {
	for _, t := range s {
		later = append(later, fault.Timed{At: t.At + d, Fault: t.Fault})
	}
	return later
}

// A schedule on a command line has semicolons between its faults.

func printFaults(s fault.Schedule) string {
	return strings.ReplaceAll(strings.TrimSpace(s.String()), "\n", "; ")
}

func parseFaults(text string) (fault.Schedule, error) {
	return fault.ParseSchedule(strings.ReplaceAll(text, ";", "\n"))
}
