package check

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// act is what was done to a lock. Each is another pointer, so that they can be told
// apart.
type act struct {
	do    doing
	token uint64
	depth int // entries after it
}

type doing string

const (
	acquires doing = "acquires"
	reenters doing = "re-enters"
	leaves   doing = "leaves"
	ends     doing = "ends"
)

// ttlLock is a lock that one has at a time: acquired when it is free, freed by the
// end of the claim, whether that is an unlock or the end of the lease. The state is
// the token of the holder, 0 if it is free.
var ttlLock = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		holder, a := state.(uint64), input.(*act)
		if a.do == acquires {
			return holder == 0, a.token
		}
		return holder == a.token, uint64(0)
	},
	DescribeOperation: describeAct,
	DescribeState: func(state any) string {
		if state == uint64(0) {
			return "free"
		}
		return fmt.Sprintf("held with token %d", state)
	},
}

// ttlOperations are the acquisitions within the fault model, each with the end of
// its claim. An end at which nobody unlocked is one that we make up: without it, who
// never unlocks would hold for ever; and were it open how late it comes, Porcupine
// could not decide.
func ttlOperations(r *record, b Bounds, name string) (ops []porcupine.Operation) {
	for _, h := range r.holds[name] {
		if !r.inModel(h.held, b.Recovery) {
			continue
		}
		ops = append(ops,
			operation(h.asked, h.held, &act{do: acquires, token: h.token, depth: 1}),
			operation(h.end(), max(h.end(), h.held), &act{do: ends, token: h.token}))
	}
	return ops
}

// entered is the state of a fencedLock.
type entered struct {
	token uint64 // of the latest holder: the highest
	depth int    // how often that has entered
}

// fencedLock is a lock that knows no time: anybody may get it at any moment, but
// with a token above all before; who re-enters is still the latest, and is entered
// once more than before. Who was overtaken may leave, which changes nothing.
var fencedLock = porcupine.Model{
	Init: func() any { return entered{} },
	Step: func(state, input, _ any) (bool, any) {
		s, a := state.(entered), input.(*act)
		switch {
		case a.do == acquires:
			return a.token > s.token, entered{a.token, 1}
		case a.do == reenters:
			return s == entered{a.token, a.depth - 1}, entered{a.token, a.depth}
		case a.token < s.token:
			return true, s
		}
		return s == entered{a.token, a.depth + 1}, entered{a.token, a.depth}
	},
	DescribeOperation: describeAct,
	DescribeState: func(state any) string {
		s := state.(entered)
		return fmt.Sprintf("entered %d times with token %d", s.depth, s.token)
	},
}

// fencedOperations are all acquisitions, in the fault model and out of it. Entries
// and leaves are only those of holds that began and ended within it: outside, a
// holder that was overtaken may not know.
func fencedOperations(r *record, b Bounds, name string) (ops []porcupine.Operation) {
	within := map[*hold]bool{}
	for _, h := range r.holds[name] {
		ops = append(ops, operation(h.asked, h.held, &act{do: acquires, token: h.token, depth: 1}))
		over := min(h.freed, h.died, r.horizon)
		within[h] = r.inModel(h.held, b.Recovery) && r.inModel(over, b.Recovery) && !r.meets(history.OutOfModel, h.held, over)
		if !within[h] {
			continue
		}
		for _, l := range h.leaves {
			ops = append(ops, operation(l.from, min(l.to, r.horizon), &act{do: leaves, token: h.token, depth: l.left}))
		}
	}
	for _, a := range r.asks {
		if a.name == name && a.held && a.depth > 1 && within[a.hold] {
			ops = append(ops, operation(a.from, a.to, &act{do: reenters, token: a.token, depth: a.depth}))
		}
	}
	return ops
}

func describeAct(input, _ any) string {
	a := input.(*act)
	return fmt.Sprintf("somebody %s with token %d and depth %d", a.do, a.token, a.depth)
}

func operation(from, to time.Duration, input any) porcupine.Operation {
	return porcupine.Operation{Call: int64(from), Return: int64(to), Input: input}
}
