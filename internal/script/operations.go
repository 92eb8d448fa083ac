package script

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operation has everything that Go and Lua share about an operation of the script that masters run.
// The operation's row below is the only place with the order of its keys and arguments: calls in Go
// and the dispatch in Lua (dispatch.go) are made from the row. The heads of scripts/*.lua have its
// replies and invariants.
type Operation struct {
	Name   string
	NoVote bool // masters run it at any version of the table of members

	keys []int    // of keyNames
	args []string // names
	run  string   // the call in Lua, with the names of keys and args

	Read func(reply int64) Vote // converts the reply into a vote
}

// vote returns an operation that runs only if the master has a vote at the version of the batch.
func vote(name, keys, args, run string, read func(int64) Vote) *Operation {
	o := &Operation{Name: name, args: strings.Fields(args), run: run, Read: read}
	for key := range strings.FieldsSeq(keys) {
		o.keys = append(o.keys, slices.Index(keyNames, key))
	}
	return o
}

// always returns an operation that a master runs without a vote.
func always(name, keys, args, run string, read func(int64) Vote) *Operation {
	o := vote(name, keys, args, run, read)
	o.NoVote = true
	return o
}

// The operations.
var (
	// A fresh acquisition. Acquire does not wait. Enqueue waits in the queue if it is refused. Share
	// is for reading, and does not wait if channel and ticket are empty.
	Acquire = vote("acquire", "lock fence gone queue", "owner ttl seen", "contend(lock, fence, gone, queue, owner, '1', ttl, '', '', nil, nil, seen)", readAcquire)
	Enqueue = vote("enqueue", "lock fence gone queue asked", "owner ttl channel ticket takes seen",
		"enter(lock, fence, gone, queue, owner, '1', ttl, channel, ticket, asked, takes, seen)", readAcquire)
	Share = vote("share", "lock fence gone queue asked", "owner ttl channel ticket",
		"shared().share(lock, fence, gone, queue, owner, ttl, channel, ticket, asked)", readAcquire)

	// One more entry into a hold. Readers use Stay.
	Reenter = vote("reenter", "lock fence gone queue", "owner depth ttl", "enter(lock, fence, gone, queue, owner, depth, ttl, '', '')", readAcquire)

	// The counter is raised to the token. Readers use Know.
	Confirm = vote("confirm", "lock fence", "owner grant token", "confirm(lock, fence, owner, grant, token)", yesOrNotMine)
	Know    = vote("know", "fence", "token", "shared().know(fence, token)", yesOrNotMine)

	// A longer lease. Readers use Stay, which also makes a writer a reader.
	Extend = vote("extend", "lock", "owner ttl", "extend(lock, owner, ttl)", readExtend)
	Stay   = vote("stay", "lock queue", "owner ttl", "shared().turn(lock, queue, owner, ttl)", readExtend)

	// The lock is written back where it was lost. Readers use Restore.
	Repair  = vote("repair", "lock fence gone", "owner depth token ttl", "repair(lock, fence, gone, owner, depth, token, ttl)", readRepair)
	Restore = vote("restore", "lock gone queue", "owner ttl", "shared().restore(lock, gone, queue, owner, ttl)", yesOrNotMine)

	Verify = vote("verify", "lock", "token", "verify(lock, token)", yesOrNotMine)

	// Exit ends one entry. Release ends the hold. Pass ends the hold, and keeps the lock for the
	// waiter on the channel. Undo ends an acquisition that failed, or may still be executed. Linger
	// ends a hold whose name stays taken for the ttl. For the time mark (ms), a later acquire of
	// the owner is refused.
	Exit    = always("exit", "lock", "owner depth", "unlock(lock, nil, nil, owner, depth, '0', '', '')", readRelease)
	Release = always("release", "lock queue", "owner", "unlock(lock, nil, queue, owner, '0', '0', '', '')", readRelease)
	Pass    = always("pass", "lock queue", "owner channel", "unlock(lock, nil, queue, owner, '0', '0', channel, '')", readRelease)
	Undo    = always("undo", "lock gone queue asked", "owner mark channel ticket", "unlock(lock, gone, queue, owner, '0', mark, channel, ticket, asked)", readRelease)
	Linger  = always("linger", "lock gone queue", "owner ttl mark", "linger(lock, gone, queue, owner, ttl, mark)", readRelease)

	// A waiter leaves the queue.
	Leave = always("leave", "lock queue asked", "channel", "leave(lock, queue, asked, channel)", yesOrNotMine)
)

var operations = []*Operation{
	Acquire, Enqueue, Share, Reenter, Confirm, Know, Extend, Stay, Repair, Restore, Verify, Exit, Release, Pass, Undo, Linger, Leave,
}

// QueueTTL is how long a client stays in a queue on a master after its last request.
const QueueTTL = time.Minute

// MaxSteps bounds how many entries of queues a batch visits. This bounds what a batch costs a
// master beside its operations themselves.
const MaxSteps = 64

const (
	// LastPlace is the last place in line that a refusal distinguishes: all waiters behind it are
	// reported to be at LastPlace.
	LastPlace = 21

	// Kept is sent instead of a place: nobody owns the lock, and it is kept for a waiter that was
	// called.
	Kept = LastPlace + 1

	// A refusal encodes place*placeUnit + remaining ms. The remaining ms are always less than placeUnit.
	placeUnit = 1 << 42
)

// LookEvery is the minimum time between two checks by which a master finds out whether it may vote:
// see scripts/look.lua.
const LookEvery = 10 * time.Millisecond

// GoOn is the argument with which Leave continues where a batch reached MaxSteps.
var GoOn = "{next}"

// MaxRemaining bounds the remaining times in replies.
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
	// MinTicket is below every ticket (us) and above every remaining time (ms).
	MinTicket = 1e14

	// maxTicket is the last ticket that a sorted set orders exactly, together with the half of a
	// reader's ticket. It is reached in the year 2112.
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

// impossible returns the vote for a reply that the script never sends.
func impossible(n int64) Vote {
	return Vote{Answer: Refused, Err: fmt.Errorf("unexpected reply %d", n)}
}

const (
	// MaxCounter is the highest value of a counter, and so the highest token. Lua counts in
	// doubles, which are not exact above 2^53. A counter beyond MaxCounter was written by another
	// program, and is invalid.
	MaxCounter = 1 << 52

	// MaxFloor bounds the floor of Init. Between it and MaxCounter is room for more grants than a
	// deployment ever makes.
	MaxFloor = 1 << 51
)

// Call is an operation with its keys and arguments. Masters share it, so it must not be changed.
type Call struct {
	*Operation
	words []any // the keys, the operation's name, its arguments
}

// Call returns a call of the operation on the keys of a lock. Pass arguments that change from call
// to call by pointer: unlike values they need no allocation to become an interface. Call panics if
// the number of arguments is wrong.
func (o *Operation) Call(k *Keys, arguments ...any) Call {
	if len(arguments) != len(o.args) {
		panic(fmt.Sprintf("script: %s has the arguments %v, and was called with %d", o.Name, o.args, len(arguments)))
	}
	words := make([]any, 0, len(o.keys)+1+len(arguments))
	all := k.all()
	for _, key := range o.keys {
		words = append(words, all[key])
	}
	words = append(words, &o.Name)
	return Call{o, append(words, arguments...)}
}

// Keys returns the keys of the call.
func (c Call) Keys() []any { return c.words[:len(c.keys)] }

// Args returns the name of the operation and its arguments.
func (c Call) Args() []any { return c.words[len(c.keys):] }
