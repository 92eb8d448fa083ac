package fault

import (
	"context"
	"maps"
	"slices"
)

// kind is what there is to know of a kind of faults.
type kind struct {
	params []param
	apply  func(context.Context, Fault, *Env) error
}

// kinds is filled at the start, as what is applied refers back to it when it is printed.
var kinds map[Kind]kind

func init() {
	kinds = map[Kind]kind{
		Kill:           {[]param{masters, data, span}, applyKill},
		Truncate:       {[]param{masters, count, span}, applyTruncate},
		RollingRestart: {[]param{masters, span}, applyRollingRestart},
		Freeze:         {[]param{masters, span}, applyFreeze},
		Thaw:           {[]param{masters}, applyThaw},
		DiskFull:       {[]param{masters, span}, applyDiskFull},
		Promote:        {[]param{masters, delay}, applyPromote},
		Restore:        {[]param{masters, delay, span}, applyRestore},
		FlushAll:       {[]param{masters}, applyFlushAll},
		Evict:          {[]param{masters, share}, applyEvict},
		Spoil:          {[]param{masters, counter}, applySpoil},
		Cache:          {[]param{masters, span}, applyCache},
		AOFOff:         {[]param{masters, span}, applyAOFOff},
		OldFile:        {[]param{masters, delay, span}, applyOldFile},
		ReplicaOf:      {[]param{masters, spare, span}, applyReplicaOf},
		ScriptFlush:    {[]param{masters}, applyScriptFlush},
		OOM:            {[]param{masters, span}, applyOOM},
		Busy:           {[]param{masters, span}, applyBusy},
		Clock:          {[]param{masters, offset, span}, applyClock},
		Strobe:         {[]param{masters, offset, period, span}, applyStrobe},
		Drift:          {[]param{masters, percent, span}, applyDrift},
		Partition:      {[]param{clients, masters, direction, span}, applyPartition},
		Stall:          {[]param{clients, masters, direction, span}, applyStall},
		Delay:          {[]param{clients, masters, delay, span}, applyDelay},
		DropRequest:    {[]param{clients, masters, every, span}, applyRule},
		DropReply:      {[]param{clients, masters, every, span}, applyRule},
		Duplicate:      {[]param{clients, masters, every, span}, applyRule},
		LateCopy:       {[]param{clients, masters, delay, every, span}, applyRule},
		Cut:            {[]param{clients, masters, direction, count, every, span}, applyRule},
		Astray:         {[]param{clients, masters, spare, span}, applyAstray},
		Suspend:        {[]param{masters, killed, span}, applyChange},
		Replace:        {[]param{masters, spare, killed, span}, applyChange},
		Add:            {[]param{masters, killed, span}, applyChange},
		Remove:         {[]param{masters, killed, span}, applyChange},
		Init:           {[]param{masters}, applyInit},
		Force:          {[]param{lock, killed}, applyForce},
		Password:       {[]param{masters, passwords}, applyPassword},
		Refuse:         {[]param{masters, span}, applyRefuse},
		StopClient:     {[]param{clients, span}, applyStopClient},
		KillClient:     {[]param{clients, span}, applyKillClient},
	}
}

// Kinds returns all kinds, in the order of their names.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }
