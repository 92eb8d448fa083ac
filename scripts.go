package redlock

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/planted"
)

//go:embed scripts/*.lua
var sources embed.FS

// batchSource is the one script that masters are asked to run: all operations,
// each after what it needs, and then what runs them.
var batchSource = assembled("header", "lock", "queue", "counter", "raise", "acquire", "confirm", "extend", "release", "repair", "verify", "leave", "batch")

// batchSHA is what a master knows batchSource by.
var batchSHA = func() string {
	sum := sha1.Sum([]byte(batchSource))
	return hex.EncodeToString(sum[:])
}()

// assembled returns a script made of these files, to which it tells maxCounter.
func assembled(files ...string) string {
	var all strings.Builder
	fmt.Fprintf(&all, "local maxCounter = %d\n", int64(maxCounter))
	for _, file := range files {
		source, err := sources.ReadFile("scripts/" + file + ".lua")
		if err != nil {
			panic(err) // it is built in
		}
		all.WriteString(planted.Bug.Script(file, string(source)))
	}
	return all.String()
}

// operation is one of those that batch.lua knows, and how its integer reads as a vote.
// The heads of scripts/*.lua say what they take, reply and keep true.
type operation struct {
	name string
	keys int
	read func(reply int64) vote
}

var (
	acquireScript = &operation{"acquire", 4, readAcquire}
	enqueueScript = &operation{"enqueue", 4, readAcquire}
	reenterScript = &operation{"reenter", 4, readAcquire}
	confirmScript = &operation{"confirm", 2, yesOrNotMine}
	extendScript  = &operation{"extend", 1, func(n int64) vote {
		switch {
		case n == -1:
			return vote{answer: Refused, err: errNotMine}
		case n >= 0 && n <= maxDuration.Milliseconds():
			return vote{answer: Granted, remaining: time.Duration(n) * time.Millisecond}
		}
		return impossible(n)
	}}
	repairScript  = &operation{"repair", 3, yesOrNotMine}
	verifyScript  = &operation{"verify", 1, yesOrNotMine}
	exitScript    = &operation{"exit", 1, readRelease}
	releaseScript = &operation{"release", 2, readRelease}
	passScript    = &operation{"pass", 2, readRelease}
	undoScript    = &operation{"undo", 3, readRelease}
	leaveScript   = &operation{"leave", 2, yesOrNotMine}
)

func readAcquire(n int64) vote {
	switch {
	case n > maxCounter:
		return vote{answer: Refused, err: fmt.Errorf("%w: its fencing counter is corrupt: grant number %d is above %d", ErrNotAdmitted, n, int64(maxCounter))}
	case n > 0:
		return vote{answer: Granted, grant: n}
	case n == 0:
		return vote{answer: Refused, err: errNotMine}
	case n >= -1-maxDuration.Milliseconds():
		return vote{answer: Held, remaining: time.Duration(-1-n) * time.Millisecond}
	case n < -minTicket && n >= -maxTicket:
		return vote{answer: Held, ticket: -n}
	}
	return impossible(n)
}

func readRelease(n int64) vote {
	if n == -1 {
		return vote{answer: Held}
	}
	return yesOrNotMine(n)
}

const (
	// minTicket is below every ticket and above every remaining time, in their units.
	minTicket = 1e14

	// maxTicket is the last one that a sorted set orders exactly, in the year 2255.
	maxTicket = 1 << 53
)

func yesOrNotMine(n int64) vote {
	switch n {
	case 1:
		return vote{answer: Granted}
	case 0:
		return vote{answer: Refused, err: errNotMine}
	}
	return impossible(n)
}

// impossible is the vote of a server that replied what the script never does.
func impossible(n int64) vote {
	return vote{answer: Refused, err: fmt.Errorf("it replied %d, which no master does", n)}
}

// maxCounter is the highest value of a counter, and so the highest token. Lua
// counts in doubles, of which those above 2^53 repeat: a counter beyond the bound
// was written by something else, and counts for nothing. maxFloor is how far Init
// may go: it leaves the counters as many grants again, more than a deployment
// ever gives.
const (
	maxCounter = 1 << 52
	maxFloor   = 1 << 51
)

// call is an operation with what it is to be run on. Masters share it, so nothing
// may write to it afterwards.
type call struct {
	*operation
	words []any // the keys, the operation's name, its arguments
}

// call returns one. What changes from call to call is given by pointers: unlike
// values they are put into an interface without an allocation.
func (o *operation) call(keys []*string, arguments ...any) call {
	words := make([]any, 0, len(keys)+1+len(arguments))
	for _, key := range keys {
		words = append(words, key)
	}
	words = append(words, &o.name)
	return call{o, append(words, arguments...)}
}

func (c call) keyWords() []any { return c.words[:c.keys] }
func (c call) argWords() []any { return c.words[c.keys:] }

// buckets is how many counters a master has. Names share them, so that they
// cost a bounded amount of memory. Clients of one deployment must agree on it.
const buckets = 4096

// keys are the names of everything about one lock on a master. All share the
// hash tag of the bucket.
type keys struct {
	lock  string // who has it: scripts/lock.lua
	fence string // the bucket's counter
	gone  string // this owner gave up here
	queue string // sorted set: who waits
}

// keysOf makes them in one allocation: they are slices of one string.
func keysOf(prefix, name, owner string) keys {
	var scratch [256]byte
	all := scratch[:0]
	var ends [4]int
	for i, kind := range [4][2]string{{"lock:", name}, {"fence", ""}, {"gone:", owner}, {"queue:", name}} {
		all = append(append(all, prefix...), ":{"...)
		all = append(strconv.AppendInt(all, int64(bucketOf(name)), 10), "}:"...)
		all = append(append(all, kind[0]...), kind[1]...)
		ends[i] = len(all)
	}
	s := string(all)
	return keys{lock: s[:ends[0]], fence: s[ends[0]:ends[1]], gone: s[ends[1]:ends[2]], queue: s[ends[2]:]}
}

// nameOf returns the name that a lock key is of, if it is one.
func nameOf(lockKey, prefix string) (name string, ok bool) {
	_, name, _ = strings.Cut(strings.TrimPrefix(lockKey, prefix), "}:lock:")
	return name, validateName(name) == nil && keysOf(prefix, name, "").lock == lockKey
}

func fenceKey(prefix string, bucket int) string {
	return prefix + ":{" + strconv.Itoa(bucket) + "}:fence"
}

// bucketOf is the 32-bit FNV-1a hash of name, mod buckets: stable over
// versions and languages, and written out because hash/fnv allocates.
func bucketOf(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % buckets)
}
