package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/scripts"
)

// bound is the line of Lua that defines MaxCounter.
var bound = fmt.Sprintf("local maxCounter = %d\n", int64(MaxCounter))

// BatchSource is the script that masters run for batches: a loop that runs the operations. The usual cases are in
// the loop itself. All other functions are defined when the loop first needs one of them (in the table more, see
// header.lua). Among these, three groups are defined only when one of their own functions is needed: for locks with
// readers (shared), for counters, apart from INCR (counts), and for the rare operations (rest).
var BatchSource = bound +
	fmt.Sprintf("local lookEvery = %d\n", LookEvery.Milliseconds()) +
	files("header") + "if mustLook then\n" + files("fit", "look") + "end\n" +
	strings.Replace(dispatched(files("batch")), "-- more\n", "more = more or (function()\n"+dispatched(
		fmt.Sprintf("local queueTTL, maxSteps = %d, %d\nlocal counts, shared, rest\n", QueueTTL.Milliseconds(), MaxSteps)+
			files("lock", "value", "queue")+
			lazily("counts", files("counter", "lost", "raise"))+
			lazily("shared", files("readers", "share", "stay", "know", "restore"))+
			files("extend", "reenter", "enter")+
			lazily("rest", files("unlock", "confirm", "repair", "verify", "leave", "linger", "rest"))+
			files("run"))+"end)()\n", 1)

// lazily returns the definition of a function with this name. Code before it must declare the name.
// The first call of the function runs source. This and each later call return the result of source.
func lazily(name, source string) string {
	return "do\nlocal defined\n" + name + " = function()\nif not defined then\ndefined = (function()\n" + source + "end)()\nend\nreturn defined\nend\nend\n"
}

// Header returns the header of a batch for a member. version is the version of the table of members;
// "" if no operation of the batch needs a vote.
func Header(member, version string) string { return member + "@" + version }

// BatchSHA is the SHA1 by which masters identify BatchSource.
var BatchSHA = shaOf(BatchSource)

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// These are the scripts of the register. Each runs by itself, and not in a batch.
var (
	EnrollSource   = files("fit", "member", "enroll")
	AdoptSource    = files("fit", "member", "adopt")
	WeakSource     = files("fit", "member", "weak")
	PromiseSource  = files("fit", "member", "promise")
	AcceptSource   = files("fit", "member", "accept")
	LearnSource    = files("fit", "member", "learn")
	ReachedSource  = files("fit", "member", "reached")
	CountersSource = bound + files("fit", "member", "counter", "counters")
	SyncSource     = bound + files("fit", "member", "counter", "sync")
	ClaimSource    = files("fit", "member", "claim")
	FoundSource    = files("fit", "member", "found")
	TurnSource     = files("fit", "member", "turn")
)

// InspectSource replies the state of a lock. ReportSource replies the state of a server. HereSource
// publishes which member the server is. These scripts change nothing.
var (
	HereSource    = files("here")
	InspectSource = files("fit", "member", "inspect")
	ReportSource  = files("fit", "member", "report")
)

// RightsSource replies which commands of the other scripts cannot run; RightsSHA is its SHA1.
var (
	RightsSource = files("rights")
	RightsSHA    = shaOf(RightsSource)
)

// files joins the texts of these files.
func files(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		source, err := scripts.Files.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is embedded
		}
		all.Write(source)
	}
	return all.String()
}
