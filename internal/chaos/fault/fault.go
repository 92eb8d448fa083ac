package fault

import (
	"time"
)

// Kind is the name of a fault in its text.
type Kind string

// Faults of masters. Masters are named as in m0+m3; a span is the time until the fault is healed.
const (
	Kill           Kind = "kill"            // (masters, kept|lost, span): SIGKILL; then started with its data, or without
	RollingRestart Kind = "rolling-restart" // (masters, span): each in turn is killed, and started after the span
	Freeze         Kind = "freeze"          // (masters, span): SIGSTOP; what arrives meanwhile is served later
	Promote        Kind = "promote"         // (masters, lag): replaced by a replica without the writes of the lag
	Restore        Kind = "restore"         // (masters, age, span): SIGKILL at that age of a backup, which is put back
	FlushAll       Kind = "flushall"        // (masters)
	Cache          Kind = "cache"           // (masters, span): evicts keys with an expiry by maxmemory and a policy; then set back
	AOFOff         Kind = "aof-off"         // (masters, span): appendonly no, and yes again
	OldFile        Kind = "old-file"        // (masters, off, span): appendonly no for so long, SIGKILL; started with the old file
	ReplicaOf      Kind = "replicaof"       // (masters, leader, span): replicas of that master, and masters again with its data
	ScriptFlush    Kind = "script-flush"    // (masters)
	OOM            Kind = "oom"             // (masters, span): writes fail for lack of memory
	Busy           Kind = "busy"            // (masters, span): a script that does not end
	Clock          Kind = "clock"           // (masters, offset, span): jumps there, and back
	Strobe         Kind = "strobe"          // (masters, offset, period, span): jumps there or back at each period
	Drift          Kind = "drift"           // (masters, percent, span): runs fast or slow, and jumps back to be right
)

// Faults of the network, between the clients named as in c1+c2, or all as in *, and the masters. A direction
// is to-server, to-client or both. A fault with n hits every n-th request of a client to a master.
const (
	Partition   Kind = "partition"    // (clients, masters, direction, span): all bytes are lost
	Stall       Kind = "stall"        // (clients, masters, direction, span): all bytes are delivered after the span
	Delay       Kind = "delay"        // (clients, masters, delay, span): one way
	DropRequest Kind = "drop-request" // (clients, masters, n, span)
	DropReply   Kind = "drop-reply"   // (clients, masters, n, span)
	Duplicate   Kind = "duplicate"    // (clients, masters, n, span): the request arrives twice
	LateCopy    Kind = "late-copy"    // (clients, masters, delay, n, span): a copy of the request arrives later, on another connection
	Cut         Kind = "cut"          // (clients, masters, direction, bytes, n, span): reset after so many bytes; not in both directions
	Astray      Kind = "astray"       // (clients, masters, server, span): new connections lead to that server
)

// Faults of client processes.
const (
	StopClient Kind = "stop-client" // (clients, span): SIGSTOP
	KillClient Kind = "kill-client" // (clients, span): SIGKILL; then started again
)

// Changes of the members by operators, past the fronts, each master's change by an operator of
// its own. An operator is killed after the given time, unless that is 0, and another repeats the change
// later. All changes are undone after the span.
const (
	Suspend Kind = "suspend" // (masters, killed, span): resumed after the span
	Replace Kind = "replace" // (master, spare, killed, span): the spare gives the place back
	Add     Kind = "add"     // (masters, killed, span): removed
	Remove  Kind = "remove"  // (masters, killed, span): added
	Init    Kind = "init"    // (masters): founded by force, if a majority of the members lost its data
)

// Force is a take of a lock by an operator, past the fronts. Locks are named as in n2: by their numbers in
// Env.Names. The operator is killed after the given time, unless that is 0, and another operator then does
// the same.
const Force Kind = "force" // (lock, killed): takes it from the holders that an inspection shows

// Changes of the User that clients log in as, whose connections are cut. Clients that log in as another user
// are not affected.
const (
	Password Kind = "password" // (masters, old|both|new): the accepted passwords, until the next change
	Refuse   Kind = "refuse"   // (masters, span): no password is accepted
)

// Data says what is left of a master's data.
type Data string

const (
	Kept Data = "kept"
	Lost Data = "lost"
)

// Passwords are the passwords that masters accept from the User.
type Passwords string

const (
	Old    Passwords = "old"
	OldNew Passwords = "both"
	New    Passwords = "new"
)

// Direction is the direction of a fault of the network.
type Direction string

const (
	ToServer Direction = "to-server"
	ToClient Direction = "to-client"
	Both     Direction = "both"
)

// Fault is one fault with its parameters. Parameters that its kind does not have are zero, so that
// faults can be compared with ==.
type Fault struct {
	Kind      Kind
	Clients   Clients
	Masters   Masters
	Spare     Masters // the master that replaces a member, is followed by a replica, or is reached instead of another one
	Data      Data
	Passwords Passwords
	Direction Direction
	Bytes     int
	Lock      int           // the number of a name
	Every     int           // the n of "every n-th request"
	Offset    time.Duration // of a clock
	Period    time.Duration // of a strobe
	Percent   float64       // of a drift
	Delay     time.Duration // of the network; lag of a replica; age of a backup; time until an operator is killed; time without the AOF
	Span      time.Duration
}

// InModel reports whether a deployment of so many masters, which have every write on disk before they answer,
// must keep all its promises when this is the only fault. It need not if a majority loses acknowledged
// writes, or if a client is stopped while its lease runs.
//
// Nor need it if one clock is wrong, or one log loses acknowledged writes. A holder may have only a quorum,
// its rival may get all other masters, and two quorums need have only one master in common: if that one lets
// a lease end early, two clients hold the lock. The same is true of a master that lost the key of a lock, or
// runs on an old copy of its data. Schedule.InModel handles minorities that forget in turn.
func (f Fault) InModel(masters int) bool {
	return !f.Kind.is(outside) && !f.misleads() && (!f.forgets() || f.Masters.Count() <= Minority(masters))
}

// Minority returns the largest number of masters that is no majority and leaves at least one master.
func Minority(masters int) int { return (masters - 1) / 2 }

// forgets reports whether its masters lose acknowledged writes.
func (f Fault) forgets() bool { return f.Kind.is(forgets) || f.Kind == Kill && f.Data == Lost }

// restarts reports whether its masters are restarted with their data.
func (f Fault) restarts() bool {
	return f.Kind == Kill || f.Kind == RollingRestart
}

// unsure returns the masters that do not count because they forget or are not voting members, and for how
// long from the begin of the fault. Not all writes of the masters in weak were on disk at some time: after a
// restart their data is not reliable.
func (f Fault) unsure(weak Masters, quarantine time.Duration) (some Masters, during time.Duration) {
	switch {
	case f.Kind.is(changes):
		return f.Masters, f.Lasts() + Slack + 2*quarantine // one quarantine for the change, and one for undoing it
	case f.forgets():
		return f.Masters, f.Lasts() + Slack + quarantine
	case f.restarts():
		return f.Masters & weak, f.Lasts() + Slack + quarantine
	}
	return 0, 0
}

// weakens returns the masters that are weak after the fault: at some time, not all their writes were on disk.
// A master that forgot is a new member, and not weak.
func (f Fault) weakens(weak Masters) Masters {
	switch {
	case f.Kind == AOFOff:
		return weak | f.Masters
	case f.forgets():
		return weak &^ f.Masters
	}
	return weak
}

// misleads reports whether the clocks of its masters are wrong by more than clients allow for.
func (f Fault) misleads() bool {
	return f.Kind == Clock || f.Kind == Strobe || f.Kind == Drift && !f.allowedFor()
}

// allowedDrift is how many percent fast a clock may be, by the clients' default.
const allowedDrift = 1.0

// allowedFor reports whether clients allow for the drift. They allow for a slow clock too, but the fault of a
// slow clock ends with a jump forward. The fault of a fast clock ends with a jump back, which only makes
// leases longer.
func (f Fault) allowedFor() bool {
	return f.Kind == Drift && 0 <= f.Percent && f.Percent <= allowedDrift
}

// Lasts returns the duration of the fault, without the time for starts and stops.
func (f Fault) Lasts() time.Duration {
	switch f.Kind {
	case Promote:
		return f.Delay
	case Restore, OldFile:
		return f.Delay + f.Span
	case RollingRestart:
		return f.Span * time.Duration(f.Masters.Count())
	default:
		return f.Span
	}
}

// Hurts returns the masters that may not serve the client well because of the fault, and for how long after
// its end. Connections that lost a message stay silent for the time silent before the client gives them up. A
// master that was restarted, forgot, or had a wrong clock may not vote before the quarantine is over and a
// client has reached it. The result errs towards too many masters, and too long a time.
func (f Fault) Hurts(client string, silent, quarantine time.Duration) (some Masters, after time.Duration) {
	switch {
	case f.Unsettles() != 0:
		return everyMaster, quarantine // the votes of two versions of the members are not added up
	case f.Clients != "" && !f.Clients.Has(client):
		return 0, 0
	case f.Kind == StopClient || f.Kind == KillClient:
		return everyMaster, silent
	case f.Kind.is(quarantined):
		return f.Masters, quarantine
	}
	return f.Masters, silent
}

const everyMaster = ^Masters(0)

// Unsettles returns the masters whose membership is unknown from the begin of the fault until the members are
// looked at. An operator that is killed or gives up leaves a change half-way, and a refused one leaves the
// members as they are. A client that is led to a server without data gives that server the place of the
// member whose name leads there.
func (f Fault) Unsettles() Masters {
	switch {
	case f.Kind == Init:
		return everyMaster
	case f.Kind.is(changes) || f.Kind == Astray:
		return f.Masters | f.Spare
	}
	return 0
}
