package fault

import (
	"time"
)

// Kind is the name of a fault, as it is printed.
type Kind string

// Faults of masters. Masters are named as in m0+m3; a span is how long it lasts until it is healed.
const (
	Kill           Kind = "kill"            // (masters, kept|lost, span): SIGKILL; then started on its data, or on none
	RollingRestart Kind = "rolling-restart" // (masters, span): each in turn is killed, and started after the span
	Freeze         Kind = "freeze"          // (masters, span): SIGSTOP; what arrives meanwhile is served later
	Promote        Kind = "promote"         // (masters, lag): replaced by a replica that lacks the writes of the lag
	Restore        Kind = "restore"         // (masters, age, span): SIGKILL at that age of a backup, which is put back
	FlushAll       Kind = "flushall"        // (masters)
	Cache          Kind = "cache"           // (masters, span): a policy and maxmemory are set by which keys that expire are evicted; set back
	AOFOff         Kind = "aof-off"         // (masters, span): appendonly no, and yes again
	OldFile        Kind = "old-file"        // (masters, off, span): appendonly no for so long, SIGKILL; started on the file of before
	ReplicaOf      Kind = "replicaof"       // (masters, leader, span): replicas of that master, and masters again with its data
	ScriptFlush    Kind = "script-flush"    // (masters)
	OOM            Kind = "oom"             // (masters, span): no write finds memory
	Busy           Kind = "busy"            // (masters, span): a script that does not end
	Clock          Kind = "clock"           // (masters, offset, span): jumps there, and back
	Strobe         Kind = "strobe"          // (masters, offset, period, span): jumps there or back at each period
	Drift          Kind = "drift"           // (masters, percent, span): runs fast or slow, and jumps back to be right
)

// Faults of the network, between the clients named as in c1+c2, or all as in *, and the masters. A
// direction is to-server, to-client or both; every n-th request of those that a client sends to a
// master is hit.
const (
	Partition   Kind = "partition"    // (clients, masters, direction, span): what comes is lost
	Stall       Kind = "stall"        // (clients, masters, direction, span): what comes is delivered after the span
	Delay       Kind = "delay"        // (clients, masters, delay, span): one way
	DropRequest Kind = "drop-request" // (clients, masters, n, span)
	DropReply   Kind = "drop-reply"   // (clients, masters, n, span)
	Duplicate   Kind = "duplicate"    // (clients, masters, n, span): the request arrives twice
	LateCopy    Kind = "late-copy"    // (clients, masters, delay, n, span): a copy of the request arrives later, on another connection
	Cut         Kind = "cut"          // (clients, masters, direction, bytes, n, span): reset after so many bytes; not both
	Astray      Kind = "astray"       // (clients, masters, server, span): new connections lead to that server; those that exist stay
)

// Faults of client processes.
const (
	StopClient Kind = "stop-client" // (clients, span): SIGSTOP
	KillClient Kind = "kill-client" // (clients, span): SIGKILL; then started again
)

// Changes of the members, which an operator makes past the fronts, each master's by an operator of
// its own. An operator is killed after the given time, unless that is 0, and its change is made
// again later. What is changed is changed back after the span.
const (
	Suspend Kind = "suspend" // (masters, killed, span): resumed after the span
	Replace Kind = "replace" // (master, spare, killed, span): the spare gives the place back
	Add     Kind = "add"     // (masters, killed, span): removed
	Remove  Kind = "remove"  // (masters, killed, span): added
	Init    Kind = "init"    // (masters): when a majority of the members lost its data, they are founded by force
)

// What an operator does to a lock, past the fronts. Locks are named as in n2: by their numbers in
// Env.Names. An operator is killed after the given time, unless that is 0, and another one does the
// same.
const Force Kind = "force" // (lock, killed): takes it from whoever an inspection shows

// What operators do to the User as whom clients log in, whose connections are cut. Other clients
// have no such user.
const (
	Password Kind = "password" // (masters, old|both|new): what is accepted, until the next one
	Refuse   Kind = "refuse"   // (masters, span): nothing is
)

// Data says what is left of a master's data.
type Data string

const (
	Kept Data = "kept"
	Lost Data = "lost"
)

// Passwords are those that masters accept from the User.
type Passwords string

const (
	Old    Passwords = "old"
	OldNew Passwords = "both"
	New    Passwords = "new"
)

// Direction is that of what a fault of the network hits.
type Direction string

const (
	ToServer Direction = "to-server"
	ToClient Direction = "to-client"
	Both     Direction = "both"
)

// Fault is one fault with its parameters. Those that its kind does not have are zero, so that
// faults can be compared with ==.
type Fault struct {
	Kind      Kind
	Clients   Clients
	Masters   Masters
	Spare     Masters // that replaces, is followed, or is reached instead
	Data      Data
	Passwords Passwords
	Direction Direction
	Bytes     int
	Lock      int           // the number of a name
	Every     int           // the n of "every n-th request"
	Offset    time.Duration // of a clock
	Period    time.Duration // of a strobe
	Percent   float64       // of a drift
	Delay     time.Duration // of the network; the lag of a replica; the age of a backup; until an operator is killed; how long the AOF is off
	Span      time.Duration
}

// InModel reports whether a deployment of so many masters, which have every write on disk before
// they answer, must keep all its promises in spite of this fault alone. It need not when a majority
// has forgotten, or when a client does not run while its lease does.
//
// Nor need it when one clock is wrong, or one log loses what it had acknowledged. A holder may have
// no more than a quorum, its rival may get all other masters, and two quorums need have no more
// than one master in common: if that one lets a lease end early, two hold. The same is true of one
// that lost the key of a lock, or runs on an old copy of its data. That masters forget in turn,
// each a minority, Schedule.InModel sees.
func (f Fault) InModel(masters int) bool {
	return !f.Kind.is(outside) && !f.misleads() && (!f.forgets() || f.Masters.Count() <= Minority(masters))
}

// Minority returns how many of these masters are the most that is no majority and leaves one.
func Minority(masters int) int { return (masters - 1) / 2 }

// forgets reports whether its masters lose what they acknowledged.
func (f Fault) forgets() bool { return f.Kind.is(forgets) || f.Kind == Kill && f.Data == Lost }

// restarts reports whether its masters are other processes after it, with the data of before.
func (f Fault) restarts() bool {
	return f.Kind == Kill || f.Kind == RollingRestart
}

// unsure returns the masters that do not count for a time, which begins at its start: they forget,
// or are no members that vote. Those of weak did not have all writes on disk once: when they are
// restarted, nobody may rely on what they have.
func (f Fault) unsure(weak Masters, quarantine time.Duration) (some Masters, during time.Duration) {
	switch {
	case f.Kind.is(changes):
		return f.Masters, f.Lasts() + Slack + 2*quarantine // one for the change, and one for the way back
	case f.forgets():
		return f.Masters, f.Lasts() + Slack + quarantine
	case f.restarts():
		return f.Masters & weak, f.Lasts() + Slack + quarantine
	}
	return 0, 0
}

// weakens returns the masters of which not all writes were on disk once, after the fault. One that
// forgot is another member, which begins anew.
func (f Fault) weakens(weak Masters) Masters {
	switch {
	case f.Kind == AOFOff:
		return weak | f.Masters
	case f.forgets():
		return weak &^ f.Masters
	}
	return weak
}

// misleads reports whether the clocks of its masters are wrong, by more than what clients allow
// for.
func (f Fault) misleads() bool {
	return f.Kind == Clock || f.Kind == Strobe || f.Kind == Drift && !f.allowedFor()
}

// allowedDrift is by how many percent a clock may be fast, by the clients' default.
const allowedDrift = 1.0

// allowedFor reports whether clients allow for the drift. One that is slow they would too, but that
// ends with a jump forward; one that is fast ends with a jump back, by which leases only last
// longer.
func (f Fault) allowedFor() bool {
	return f.Kind == Drift && 0 <= f.Percent && f.Percent <= allowedDrift
}

// Lasts returns how long the fault lasts, without what starting and stopping take.
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

// Hurts returns the masters that may not serve the client as they should because of the fault, and
// for how long after its end. Connections on which something was lost stay silent for so long
// (silent) before the client gives them up; a master that was restarted, forgot, or had a wrong
// clock may not vote before the quarantine is over and a client has come by. It names rather too
// many masters, and too long a time.
func (f Fault) Hurts(client string, silent, quarantine time.Duration) (some Masters, after time.Duration) {
	switch {
	case f.Unsettles() != 0:
		return everyMaster, quarantine // votes of two versions of the members are not added up
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

// Unsettles returns the masters of which nobody knows, from the begin of the fault on, whether they
// vote: an operator that is killed or gives up leaves a change half-way, and one that is refused
// leaves the members as they are. A client that is led to a server without data gives it the place
// of the member whose name leads there. That is so until somebody looks at the members.
func (f Fault) Unsettles() Masters {
	switch {
	case f.Kind == Init:
		return everyMaster
	case f.Kind.is(changes) || f.Kind == Astray:
		return f.Masters | f.Spare
	}
	return 0
}
