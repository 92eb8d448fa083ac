package redlock

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/planted"
)

//go:embed scripts/acquire.lua
var acquireSource string

//go:embed scripts/confirm.lua
var confirmSource string

//go:embed scripts/extend.lua
var extendSource string

//go:embed scripts/release.lua
var releaseSource string

//go:embed scripts/repair.lua
var repairSource string

//go:embed scripts/verify.lua
var verifySource string

//go:embed scripts/line.lua
var lineSource string

//go:embed scripts/counter.lua
var counterSource string

//go:embed scripts/raise.lua
var raiseSource string

//go:embed scripts/leave.lua
var leaveSource string

// script is one of scripts/*.lua, and how its one integer reads as a vote. The
// heads of the files say what they take, reply and keep true.
type script struct {
	name, source, sha string
	read              func(reply int64) vote
}

func newScript(name, source string, read func(int64) vote) *script {
	source = planted.Script(name, source)
	sum := sha1.Sum([]byte(source))
	return &script{name: name, source: source, sha: hex.EncodeToString(sum[:]), read: read}
}

var (
	acquireScript = newScript("acquire", boundSource+lineSource+acquireSource, func(n int64) vote {
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
	})
	confirmScript = newScript("confirm", boundSource+counterSource+raiseSource+confirmSource, yesOrNotMine)
	extendScript  = newScript("extend", extendSource, func(n int64) vote {
		switch {
		case n == -1:
			return vote{answer: Refused, err: errNotMine}
		case n >= 0 && n <= maxDuration.Milliseconds():
			return vote{answer: Granted, remaining: time.Duration(n) * time.Millisecond}
		}
		return impossible(n)
	})
	releaseScript = newScript("release", lineSource+releaseSource, func(n int64) vote {
		if n == -1 {
			return vote{answer: Held}
		}
		return yesOrNotMine(n)
	})
	leaveScript  = newScript("leave", lineSource+leaveSource, yesOrNotMine)
	repairScript = newScript("repair", boundSource+counterSource+raiseSource+repairSource, yesOrNotMine)
	verifyScript = newScript("verify", verifySource, yesOrNotMine)

	// scripts are all that a master must have loaded before it is asked.
	scripts = []*script{acquireScript, confirmScript, extendScript, releaseScript, leaveScript, repairScript, verifyScript}
)

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

// boundSource tells maxCounter to the scripts that use it.
var boundSource = fmt.Sprintf("local maxCounter = %d\n", int64(maxCounter))

// call returns the command line that runs s. Masters share it, so nothing may
// write to it afterwards. Arguments that change from call to call are pointers:
// unlike values they are put into an interface without an allocation.
func (s *script) call(keys []*string, argv ...any) []any {
	line := make([]any, 0, 3+len(keys)+len(argv))
	line = append(line, "evalsha", &s.sha, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	return append(line, argv...)
}

// buckets is how many counters a master has. Names share them, so that they
// cost a bounded amount of memory. Clients of one deployment must agree on it.
const buckets = 4096

// keys are the names of everything about one lock on a master. All share the
// hash tag of the bucket.
type keys struct {
	lock  string // hash: owner, depth, grant; or who is called to take it: next
	fence string // the bucket's counter
	gone  string // this owner gave up here
	line  string // sorted set: who waits
}

// keysOf makes them in one allocation: they are slices of one string.
func keysOf(prefix, name, owner string) keys {
	var scratch [256]byte
	all := scratch[:0]
	var ends [4]int
	for i, kind := range [4][2]string{{"lock:", name}, {"fence", ""}, {"gone:", owner}, {"line:", name}} {
		all = append(append(all, prefix...), ":{"...)
		all = append(strconv.AppendInt(all, int64(bucketOf(name)), 10), "}:"...)
		all = append(append(all, kind[0]...), kind[1]...)
		ends[i] = len(all)
	}
	s := string(all)
	return keys{lock: s[:ends[0]], fence: s[ends[0]:ends[1]], gone: s[ends[1]:ends[2]], line: s[ends[2]:]}
}

// nameOf returns the name that a lock key is of.
func nameOf(lockKey, prefix string) (name string, ok bool) {
	_, rest, ok := strings.Cut(strings.TrimPrefix(lockKey, prefix), "}:lock:")
	return rest, ok
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
