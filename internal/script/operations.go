package script

import (
	"fmt"
	"time"
)

// Operation is one of those that batch.lua knows, and how its integer reads as a vote. The heads of
// scripts/*.lua say what they take, reply and keep true.
type Operation struct {
	Name   string
	keys   int
	NoVote bool // a master runs it at whatever version
	Read   func(reply int64) Vote
}

// The operations.
var (
	Acquire = &Operation{Name: "acquire", keys: 4, Read: readAcquire}
	Enqueue = &Operation{Name: "enqueue", keys: 5, Read: readAcquire}
	Reenter = &Operation{Name: "reenter", keys: 4, Read: readAcquire}
	Confirm = &Operation{Name: "confirm", keys: 2, Read: yesOrNotMine}
	Extend  = &Operation{Name: "extend", keys: 1, Read: readExtend}
	Repair  = &Operation{Name: "repair", keys: 3, Read: readRepair}
	Verify  = &Operation{Name: "verify", keys: 1, Read: yesOrNotMine}
	Exit    = &Operation{Name: "exit", keys: 1, NoVote: true, Read: readRelease}
	Release = &Operation{Name: "release", keys: 2, NoVote: true, Read: readRelease}
	Pass    = &Operation{Name: "pass", keys: 2, NoVote: true, Read: readRelease}
	Undo    = &Operation{Name: "undo", keys: 4, NoVote: true, Read: readRelease}
	Linger  = &Operation{Name: "linger", keys: 3, NoVote: true, Read: readRelease}
	Share   = &Operation{Name: "share", keys: 5, Read: readAcquire}
	Stay    = &Operation{Name: "stay", keys: 2, Read: readExtend}
	Know    = &Operation{Name: "know", keys: 1, Read: yesOrNotMine}
	Restore = &Operation{Name: "restore", keys: 3, Read: yesOrNotMine}
	Leave   = &Operation{Name: "leave", keys: 3, NoVote: true, Read: yesOrNotMine}
)

// QueueTTL is how long a client stays in a queue on a master after its last word.
const QueueTTL = time.Minute

// MaxSteps bounds how many entries of queues a batch looks at. It is what a batch may cost a master
// beside the operations themselves.
const MaxSteps = 64

const (
	// LastPlace is the place in line of who stands there or behind it.
	LastPlace = 21

	// Kept is told in the stead of a place: the lock is nobody's, and kept for one who was called.
	Kept = LastPlace + 1

	placeUnit = 1 << 42 // in which a refusal tells the place: more than any remaining ms
)

// LookEvery is how often at most a master looks whether it may vote: scripts/look.lua.
const LookEvery = 10 * time.Millisecond

// GoOn is the argument with which Leave goes on where a batch ended at MaxSteps.
var GoOn = "{next}"

// MaxRemaining bounds the remaining times that a master can tell.
const MaxRemaining = 100 * 365 * 24 * time.Hour

func readAcquire(n int64) Vote {
	switch {
	case n > MaxCounter:
		return Vote{Answer: Refused, Err: fmt.Errorf("%w: its fencing counter is corrupt: grant number %d is above %d", ErrNotMember, n, int64(MaxCounter))}
	case n > 0:
		return Vote{Answer: Granted, Grant: n}
	case n == 0:
		return Vote{Answer: Refused, Err: ErrNotMine}
	case n > -MinTicket && (-1-n)/placeUnit <= Kept && (-1-n)%placeUnit <= MaxRemaining.Milliseconds():
		return Vote{Answer: Held, Remaining: time.Duration((-1-n)%placeUnit) * time.Millisecond, Place: int((-1 - n) / placeUnit)}
	case n < -MinTicket && n >= -maxTicket:
		return Vote{Answer: Held, Ticket: -n}
	}
	return impossible(n)
}

func readRepair(n int64) Vote {
	if n >= 0 && n <= MaxCounter {
		return readAcquire(n)
	}
	return impossible(n)
}

func readExtend(n int64) Vote {
	switch {
	case n == -1:
		return Vote{Answer: Refused, Err: ErrNotMine}
	case n >= 0 && n <= MaxRemaining.Milliseconds():
		return Vote{Answer: Granted, Remaining: time.Duration(n) * time.Millisecond}
	}
	return impossible(n)
}

func readRelease(n int64) Vote {
	if n == -1 {
		return Vote{Answer: Held}
	}
	return yesOrNotMine(n)
}

const (
	// MinTicket is below every ticket and above every remaining time, in their units.
	MinTicket = 1e14

	// maxTicket is the last one that a sorted set orders exactly, with the half of a reader's: in
	// the year 2112.
	maxTicket = 1 << 52
)

func yesOrNotMine(n int64) Vote {
	switch n {
	case 1:
		return Vote{Answer: Granted}
	case 0:
		return Vote{Answer: Refused, Err: ErrNotMine}
	}
	return impossible(n)
}

// impossible is the vote of a server that replied what the script never does.
func impossible(n int64) Vote {
	return Vote{Answer: Refused, Err: fmt.Errorf("it replied %d, which no master does", n)}
}

const (
	// MaxCounter is the highest value of a counter, and so the highest token. Lua counts in
	// doubles, of which those above 2^53 repeat: a counter beyond the bound was written by
	// something else, and counts for nothing.
	MaxCounter = 1 << 52

	// MaxFloor is how far Init may go: it leaves the counters as many grants again, more than a
	// deployment ever gives.
	MaxFloor = 1 << 51
)

// Call is an operation with what it is to be run on. Masters share it, so nothing may write to it
// afterwards.
type Call struct {
	*Operation
	words []any // the keys, the operation's name, its arguments
}

// Call returns one. What changes from call to call is given by pointers: unlike values they are put
// into an interface without an allocation.
func (o *Operation) Call(keys []*string, arguments ...any) Call {
	words := make([]any, 0, len(keys)+1+len(arguments))
	for _, key := range keys {
		words = append(words, key)
	}
	words = append(words, &o.Name)
	return Call{o, append(words, arguments...)}
}

// Keys are what the call's operation works on.
func (c Call) Keys() []any { return c.words[:c.keys] }

// Args are the operation's name and its arguments.
func (c Call) Args() []any { return c.words[c.keys:] }
