package check

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// act is what was done to a lock. Each is another pointer, so that they can be told apart.
type act struct {
	do    doing
	token uint64
	depth int    // entries after it
	last  uint64 // that a reader was told of
}

type doing string

const (
	acquires   doing = "acquires"
	reenters   doing = "re-enters"
	leaves     doing = "leaves"
	ends       doing = "ends"
	downgrades doing = "downgrades"
	takes      doing = "takes it by force"

	// Of one that reads.
	shares      doing = "acquires for reading"
	rereads     doing = "re-enters for reading"
	endsReading doing = "ends reading"
)

// taken is the state of a ttlLock.
type taken struct {
	writer  uint64 // its token; 0: there is none
	readers int
}

// ttlLock is a lock that one writer has at a time, or any number of readers: acquired when there is
// place, freed by the end of the claim, whether that is an unlock or the end of the lease. A
// downgrade makes a reader of the writer. An operator takes it once those it takes it from are
// gone, and frees it in the same step.
var ttlLock = porcupine.Model{
	Init: func() any { return taken{} },
	Step: func(state, input, _ any) (bool, any) {
		s, a := state.(taken), input.(*act)
		switch a.do {
		case acquires:
			return s == taken{}, taken{writer: a.token}
		case takes:
			return s == taken{}, s
		case downgrades:
			return s.writer == a.token, taken{readers: 1}
		case shares:
			return s.writer == 0, taken{readers: s.readers + 1}
		case endsReading:
			return s.readers > 0, taken{readers: s.readers - 1}
		}
		return s.writer == a.token, taken{}
	},
	DescribeOperation: describeAct,
	DescribeState: func(state any) string {
		switch s := state.(taken); {
		case s.writer > 0:
			return fmt.Sprintf("held with token %d", s.writer)
		case s.readers > 0:
			return fmt.Sprintf("held by %d readers", s.readers)
		}
		return "free"
	},
}

// ttlOperations are the acquisitions within the fault model, each with the end of its claim. If
// nobody unlocked, we make up an end: without it, a holder that never unlocks would hold for ever,
// and if the end could be arbitrarily late, Porcupine could not decide. A downgrade is done when it
// begins: from then on its holder takes itself for a reader. One from whom an operator takes the
// lock may have it no more at any moment from when that begins, whatever became of it.
func ttlOperations(r *record, b Bounds, name string) (ops []porcupine.Operation) {
	for _, h := range r.holds[name] {
		if !r.inModel(h.held, b.Recovery) {
			continue
		}
		end := r.claim(h, b)
		from, over := min(end, h.forcedFrom(b)), max(end, h.held)
		begins, ended := acquires, ends
		if h.reads {
			begins, ended = shares, endsReading
		}
		ops = append(ops, operation(h.asked, h.held, &act{do: begins, token: h.token, depth: 1}))
		if h.down < from {
			ops, ended = append(ops, operation(h.down, h.down, &act{do: downgrades, token: h.token})), endsReading
		}
		ops = append(ops, operation(from, over, &act{do: ended, token: h.token}))
	}
	for _, f := range r.forces[name] {
		if f.token > 0 && r.inModel(f.from, b.Recovery) && r.inModel(f.to, b.Recovery) {
			ops = append(ops, operation(f.from, f.to, &act{do: takes, token: f.token}))
		}
	}
	return ops
}

// entered is the state of a fencedLock.
type entered struct {
	token uint64 // of the latest writer: the highest
	depth int    // how often that has entered
	told  uint64 // the highest that a reader was told of
}

// fencedLock is a lock that knows no time: anybody may get it at any moment, but with a token above
// all before, and above what readers were told of; who re-enters is still the latest, and is
// entered once more than before. Who was overtaken may leave, which changes nothing. A reader is
// told of the latest token or a higher one, and re-enters as long as no writer came. An operator
// who takes the lock is one that came and left.
var fencedLock = porcupine.Model{
	Init: func() any { return entered{} },
	Step: func(state, input, _ any) (bool, any) {
		s, a := state.(entered), input.(*act)
		next := entered{a.token, a.depth, s.told}
		switch {
		case a.do == shares:
			return a.last >= s.token, entered{s.token, s.depth, max(s.told, a.last)}
		case a.do == rereads:
			return a.last >= s.token, s
		case a.do == acquires || a.do == takes:
			return a.token > max(s.token, s.told), next
		case a.do == reenters:
			return s == entered{a.token, a.depth - 1, s.told}, next
		case a.token < s.token:
			return true, s
		}
		return s == entered{a.token, a.depth + 1, s.told}, next
	},
	DescribeOperation: describeAct,
	DescribeState: func(state any) string {
		s := state.(entered)
		text := fmt.Sprintf("entered %d times with token %d", s.depth, s.token)
		if s.told > 0 {
			text += fmt.Sprintf(" (readers were told of %d)", s.told)
		}
		return text
	},
}

// fencedOperations are all acquisitions, in the fault model and out of it. Entries and leaves are
// only those of holds that began and ended within it: outside, a holder that was overtaken may not
// know. A writer that downgraded is still the latest.
func fencedOperations(r *record, b Bounds, name string) (ops []porcupine.Operation) {
	within := map[*hold]bool{}
	for _, h := range r.holds[name] {
		fresh := &act{do: acquires, token: h.token, depth: 1}
		if h.reads {
			fresh = &act{do: shares, last: h.last, depth: 1}
		}
		ops = append(ops, operation(h.asked, h.held, fresh))
		over := min(h.freed, h.died, r.horizon)
		within[h] = r.inModel(h.held, b.Recovery) && r.inModel(over, b.Recovery) && !r.meets(history.OutOfModel, h.held, over)
		if !within[h] || h.reads {
			continue
		}
		for _, e := range h.entries {
			if e.left != never {
				ops = append(ops, operation(e.left, min(e.freed, r.horizon), &act{do: leaves, token: h.token, depth: e.after}))
			}
		}
	}
	for _, a := range r.asks {
		if a.name == name && a.held && a.depth > 1 && within[a.hold] {
			again := &act{do: reenters, token: a.hold.token, depth: a.depth}
			if a.hold.reads {
				again = &act{do: rereads, last: a.hold.last, depth: a.depth}
			}
			ops = append(ops, operation(a.from, a.to, again))
		}
	}
	for _, f := range r.forces[name] {
		if f.token > 0 {
			ops = append(ops, operation(f.from, f.to, &act{do: takes, token: f.token}))
		}
	}
	return ops
}

func describeAct(input, _ any) string {
	a := input.(*act)
	if a.do == shares || a.do == rereads {
		return fmt.Sprintf("somebody %s, told of token %d", a.do, a.last)
	}
	return fmt.Sprintf("somebody %s with token %d and depth %d", a.do, a.token, a.depth)
}

func operation(from, to time.Duration, input any) porcupine.Operation {
	return porcupine.Operation{Call: int64(from), Return: int64(to), Input: input}
}
