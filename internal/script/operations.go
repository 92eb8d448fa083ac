package script

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operation has everything that Go and Lua share about an operation of the script that masters run.
// Only the operation's row below has the order of its keys and arguments: calls in Go and the dispatch
// in Lua (dispatch.go) are made from the row. The heads of scripts/*.lua describe the replies and the
// invariants.
type Operation struct {
	Name   string
	NoVote bool // masters run it at any version of the table of members

	keys []int    // of keyNames
	args []string // the names of the arguments
	run  string   // the call in Lua, with the names of the keys and arguments

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

// always returns an operation that a master runs at any version.
func always(name, keys, args, run string, read func(int64) Vote) *Operation {
	o := vote(name, keys, args, run, read)
	o.NoVote = true
	return o
}

// The operations.
var (
	// These begin a fresh acquisition. Acquire does not wait. Enqueue waits in the queue if the lock is
	// taken. Share is for reading, and waits in the queue only if there is a channel.
	Acquire = vote("acquire", "lock fence gone queue", "owner ttl seen", "contend(lock, fence, gone, queue, owner, ttl, '', '', nil, nil, seen)", readAcquire)
	Enqueue = vote("enqueue", "lock fence gone queue asked", "owner ttl channel ticket takes seen",
		"enter(lock, fence, gone, queue, owner, ttl, channel, ticket, asked, takes, seen)", readAcquire)
	Share = vote("share", "lock fence gone queue asked", "owner ttl channel ticket",
		"shared().share(lock, fence, gone, queue, owner, ttl, channel, ticket, asked)", readAcquire)

	// Reenter checks and extends the lock for one more entry into a hold. Readers use Stay.
	Reenter = vote("reenter", "lock", "owner ttl", "reenter(lock, owner, ttl)", readAcquire)

	// Confirm raises the counter to the token. Readers use Know.
	Confirm = vote("confirm", "lock fence", "owner grant token", "confirm(lock, fence, owner, grant, token)", yesOrNotMine)
	Know    = vote("know", "fence", "token", "shared().know(fence, token)", yesOrNotMine)

	// Extend makes the lease longer. Readers use Stay, which also turns a writer into a reader.
	Extend = vote("extend", "lock", "owner ttl", "extend(lock, owner, ttl)", readExtend)
	Stay   = vote("stay", "lock queue", "owner ttl", "shared().turn(lock, queue, owner, ttl)", readExtend)

	// Repair writes the lock back to a master that lost it. Readers use Restore.
	Repair  = vote("repair", "lock fence gone", "owner token ttl", "repair(lock, fence, gone, owner, token, ttl)", readRepair)
	Restore = vote("restore", "lock gone queue", "owner ttl", "shared().restore(lock, gone, queue, owner, ttl)", yesOrNotMine)

	Verify = vote("verify", "lock", "token", "verify(lock, token)", yesOrNotMine)

	// Release ends the hold. Pass ends the hold, and keeps the lock for the
	// waiter on the channel. Undo ends an acquisition that failed, or that may still be executed.
	// Linger ends the hold, but the name stays taken for the ttl. In Undo and Linger, mark is how long
	// (in ms) later acquires of the owner are refused.
	Release = always("release", "lock queue", "owner", "unlock(lock, nil, queue, owner, '0', '', '')", readRelease)
	Pass    = always("pass", "lock queue", "owner channel", "unlock(lock, nil, queue, owner, '0', channel, '')", readRelease)
	Undo    = always("undo", "lock gone queue asked", "owner mark channel ticket", "unlock(lock, gone, queue, owner, mark, channel, ticket, asked)", readRelease)
	Linger  = always("linger", "lock gone queue", "owner ttl mark", "linger(lock, gone, queue, owner, ttl, mark)", readRelease)

	// Leave removes a waiter from the queue.
	Leave = always("leave", "lock queue asked", "channel", "leave(lock, queue, asked, channel)", yesOrNotMine)
)

var operations = []*Operation{
	Acquire, Enqueue, Share, Reenter, Confirm, Know, Extend, Stay, Repair, Restore, Verify, Release, Pass, Undo, Linger, Leave,
}

// QueueTTL is how long a client stays in a master's queue after the client's last request.
const QueueTTL = time.Minute

// After MaxSteps entries (of queues, and of sets of readers), a batch visits only two for each lock.
// This limits the time that a batch takes.
const MaxSteps = 64

const (
	// LastPlace is the last place in line that a refusal distinguishes. A waiter behind this place gets
	// LastPlace, too.
	LastPlace = 21

	// Kept is sent instead of a place if nobody owns the lock, and the master keeps it for a called
	// waiter.
	Kept = LastPlace + 1

	// A refusal encodes place*placeUnit + remaining ms. The remaining ms are always less than placeUnit.
	placeUnit = 1 << 42
)

// LookEvery is the time after which a master must check again whether it may vote: see
// scripts/look.lua.
const LookEvery = 10 * time.Millisecond

// GoOn is the channel for a Leave that removes no waiter, but continues where a batch reached MaxSteps.
var GoOn = "{next}"

// MaxRemaining is the longest remaining time that a reply may have.
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

	// maxTicket is the highest ticket that a sorted set can order exactly, even with the half that
	// a reader's ticket adds. Tickets reach it in the year 2112.
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

// impossible returns the vote for a reply that no master sends.
func impossible(n int64) Vote {
	return Vote{Answer: Refused, Err: fmt.Errorf("unexpected reply %d", n)}
}

const (
	// MaxCounter is the highest value of a counter, and so the highest token. Lua's numbers are not
	// exact above 2^53. A counter above MaxCounter was written by another program, and is invalid.
	MaxCounter = 1 << 52

	// MaxFloor is the highest floor for Init. A deployment never makes so many grants that a counter
	// gets from MaxFloor to MaxCounter.
	MaxFloor = 1 << 51
)

// Call is an operation with its keys and arguments. Several masters use the same Call, so it must not
// be changed.
type Call struct {
	*Operation
	words []any // the keys, the operation's name, its arguments
}

// Call returns a call of the operation on the keys of a lock. Pass varying arguments by pointer: a
// pointer becomes an interface without an allocation. Call panics if the number of arguments is wrong.
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
