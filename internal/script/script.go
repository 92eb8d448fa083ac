package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/planted"
	"github.com/redlock-go/redlock/scripts"
)

// bound tells the scripts MaxCounter.
var bound = fmt.Sprintf("local maxCounter = %d\n", int64(MaxCounter))

// BatchSource is the one script that masters are asked to run: the operations, each
// after what it needs, and then what runs them. All but the usual ones are defined
// within a function (more, see header.lua), when a batch first needs them.
var BatchSource = bound +
	fmt.Sprintf("local queueTTL = %d\n", QueueTTL.Milliseconds()) +
	files("header", "lock", "grant", "acquire", "release") +
	"local defined\nmore = function()\nif not defined then\ndefined = (function()\n" +
	files("value", "queue", "counter", "lost", "raise", "enter", "unlock", "confirm", "extend", "repair", "verify", "leave", "run") +
	"end)()\nend\nreturn defined\nend\n" +
	files("batch")

// BatchSHA is what a master knows BatchSource by.
var BatchSHA = func() string {
	sum := sha1.Sum([]byte(BatchSource))
	return hex.EncodeToString(sum[:])
}()

// The scripts of the register, each run for itself.
var (
	EnrollSource   = files("member", "enroll")
	AdoptSource    = files("member", "adopt")
	PromiseSource  = files("member", "promise")
	AcceptSource   = files("member", "accept")
	LearnSource    = files("member", "learn")
	CountersSource = bound + files("member", "counter", "counters")
	SyncSource     = bound + files("member", "counter", "sync")
	ClaimSource    = files("member", "claim")
	FoundSource    = files("member", "found")
)

// files returns the sources of these files, one after the other.
func files(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		source, err := scripts.Files.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is built in
		}
		all.WriteString(planted.Bug.Script(name, string(source)))
	}
	return all.String()
}
