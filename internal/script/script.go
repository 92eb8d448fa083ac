package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/scripts"
)

// bound tells the scripts MaxCounter.
var bound = fmt.Sprintf("local maxCounter = %d\n", int64(MaxCounter))

// BatchSource is the one script that masters are asked to run: the operations, each after what it
// needs, and then what runs them. All but the usual ones are defined within a function (more, see
// header.lua), when a batch first needs them. So are, within that, those of locks that readers have
// (shared), what a counter is asked for beside its INCR (counts), and the operations that few
// batches have (rest).
var BatchSource = dispatched(bound +
	fmt.Sprintf("local queueTTL, maxSteps, lookEvery = %d, %d, %d\n", QueueTTL.Milliseconds(), MaxSteps, LookEvery.Milliseconds()) +
	files("header") + "if mustLook then\n" + files("fit", "look") + "end\n" +
	files("lock", "grant", "acquire", "release") +
	lazily("more", "local counts, shared, rest\n"+
		files("value", "queue")+
		lazily("counts", files("counter", "lost", "raise"))+
		lazily("shared", files("readers", "share", "stay", "know", "restore"))+
		files("enter", "extend")+
		lazily("rest", files("unlock", "confirm", "repair", "verify", "leave", "linger", "rest"))+
		files("run")) +
	files("batch"))

// lazily returns the definition of a function of this name, which is declared already. It runs
// source when it is called first, and returns what that returned.
func lazily(name, source string) string {
	return "do\nlocal defined\n" + name + " = function()\nif not defined then\ndefined = (function()\n" + source + "end)()\nend\nreturn defined\nend\nend\n"
}

// Header returns the argument of a batch that is for a member, at a version of the table of
// members; "" is that of a batch that needs none.
func Header(member, version string) string { return member + "@" + version }

// BatchSHA is what a master knows BatchSource by.
var BatchSHA = shaOf(BatchSource)

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// The scripts of the register, each run for itself.
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

// InspectSource is a script that replies the state of a lock, ReportSource one that replies what a
// server says of itself, HereSource one that publishes which member it is. They change nothing.
var (
	HereSource    = files("here")
	InspectSource = files("fit", "member", "inspect")
	ReportSource  = files("fit", "member", "report")
)

// RightsSource is a script that tells which commands of the others cannot run, and RightsSHA what a
// master knows it by.
var (
	RightsSource = files("rights")
	RightsSHA    = shaOf(RightsSource)
)

// files returns the sources of these files, one after the other.
func files(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		source, err := scripts.Files.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is built in
		}
		all.Write(source)
	}
	return all.String()
}
