package fault

import (
	"context"
	"maps"
	"slices"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

// kind describes a kind of fault.
type kind struct {
	params []param
	apply  func(context.Context, Fault, *Env, []cluster.Master) error
	hands  string // the thing of each master, wire or client that the fault holds while it lasts; empty: none
	traits trait
}

// trait is a property of all faults of a kind.
type trait int

const (
	outside     trait = 1 << iota // no such fault is within the model
	scripted                      // only written by people, never drawn
	unseen                        // running clients do not see all effects, so clients are also started during and after the fault
	forgets                       // its masters lose writes that they acknowledged
	hinders                       // its masters do not serve for a time
	quarantined                   // after the fault, its masters possibly do not vote until a quarantine is over
	changes                       // its masters join or leave the members, and do not vote for a time
	hitsClients                   // the fault names clients
)

func (k Kind) is(t trait) bool { return kinds[k].traits&t != 0 }

// Things that at most one fault may hold at a time.
const (
	theProcess = "process"
	theClock   = "clock"
	theWire    = "wire"
	theDelay   = "delay"
	theAddress = "address"
	theClient  = "client"
)

// kinds is set by init: functions in the map use kinds to print faults, and Go refuses such a cycle in an initializer.
var kinds map[Kind]kind

func init() {
	const forgetful = forgets | hinders | quarantined
	kinds = map[Kind]kind{
		Kill:           {[]param{masters, data, span}, spanned(kill, start), theProcess, hinders | quarantined},
		RollingRestart: {[]param{masters, span}, applyRollingRestart, theProcess, hinders | quarantined},
		Freeze:         {[]param{masters, span}, spanned(freeze, thaw), theProcess, hinders},
		Promote:        {[]param{masters, delay}, applyPromote, theProcess, forgetful},
		Restore:        {[]param{masters, delay, span}, applyRestore, theProcess, forgetful | outside},
		FlushAll:       {[]param{masters}, spanned(flushAll, nothing), theProcess, forgets | quarantined},
		Cache:          {[]param{masters, span}, applyCache, theProcess, forgetful | unseen},
		AOFOff:         {[]param{masters, span}, spanned(set("appendonly", "no"), set("appendonly", "yes")), theProcess, hinders | quarantined | unseen},
		OldFile:        {[]param{masters, delay, span}, applyOldFile, theProcess, forgetful | unseen},
		ReplicaOf:      {[]param{masters, spare, span}, applyReplicaOf, theProcess, forgetful | unseen},
		ScriptFlush:    {[]param{masters}, spanned(order("script", "flush"), nothing), theProcess, 0},
		OOM:            {[]param{masters, span}, spanned(set("maxmemory", 1), set("maxmemory", 0)), theProcess, hinders},
		Busy:           {[]param{masters, span}, applyBusy, theProcess, hinders},
		Password:       {[]param{masters, passwords}, spanned(setPasswords, nothing), theProcess, scripted},
		Refuse:         {[]param{masters, span}, spanned(setUser("off"), setUser("on")), theProcess, scripted | hinders}, // even the right password is refused
		Clock:          {[]param{masters, offset, span}, applyClock, theClock, outside | quarantined},
		Strobe:         {[]param{masters, offset, period, span}, applyStrobe, theClock, outside | quarantined},
		Drift:          {[]param{masters, percent, span}, applyDrift, theClock, quarantined},
		Partition:      {[]param{clients, masters, direction, span}, applyPartition, theWire, hitsClients},
		Stall:          {[]param{clients, masters, direction, span}, applyStall, theWire, hitsClients},
		Delay:          {[]param{clients, masters, delay, span}, applyDelay, theDelay, hitsClients},
		DropRequest:    {[]param{clients, masters, every, span}, applyRule, "", hitsClients},
		DropReply:      {[]param{clients, masters, every, span}, applyRule, "", hitsClients},
		Duplicate:      {[]param{clients, masters, every, span}, applyRule, "", hitsClients},
		LateCopy:       {[]param{clients, masters, delay, every, span}, applyRule, "", hitsClients},
		Cut:            {[]param{clients, masters, direction, count, every, span}, applyRule, "", hitsClients},
		Astray:         {[]param{clients, masters, spare, span}, applyAstray, theAddress, hitsClients | unseen},
		StopClient:     {[]param{clients, span}, applyStopClient, theClient, hitsClients | outside},
		KillClient:     {[]param{clients, span}, applyKillClient, theClient, hitsClients},
		Suspend:        {[]param{masters, killed, span}, applyChange, "", changes},
		Replace:        {[]param{masters, spare, killed, span}, applyChange, "", changes},
		Add:            {[]param{masters, killed, span}, applyChange, "", changes},
		Remove:         {[]param{masters, killed, span}, applyChange, "", changes},
		Init:           {[]param{masters}, applyInit, "", outside | scripted},
		Force:          {[]param{lock, killed}, applyForce, "", 0},
	}
}

// Kinds returns all kinds, sorted by name.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }
