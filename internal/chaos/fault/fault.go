package fault

import (
	"time"
)

// Kind is the kind of a fault: the name with which the fault's text begins.
type Kind string

// Faults of masters. A set of masters is written as in m0+m3. A fault is healed after its span.
const (
	Kill           Kind = "kill"            // (masters, kept|lost, span): SIGKILL; started after the span, with its data or without
	RollingRestart Kind = "rolling-restart" // (masters, span): each in turn is killed, and started after the span
	Freeze         Kind = "freeze"          // (masters, span): SIGSTOP; what arrives meanwhile is served later
	Promote        Kind = "promote"         // (masters, lag): each is replaced by a replica that lacks the writes made during the lag
	Restore        Kind = "restore"         // (masters, age, span): a backup, and SIGKILL after the age; started with the backup after the span
	FlushAll       Kind = "flushall"        // (masters)
	Cache          Kind = "cache"           // (masters, span): maxmemory makes the master evict keys with an expiry, and is then reset
	AOFOff         Kind = "aof-off"         // (masters, span): appendonly no, and yes again after the span
	OldFile        Kind = "old-file"        // (masters, off, span): appendonly no, and SIGKILL after off; started with the old file after the span
	ReplicaOf      Kind = "replicaof"       // (masters, leader, span): replicas of the leader, then masters again, with the leader's data
	ScriptFlush    Kind = "script-flush"    // (masters)
	OOM            Kind = "oom"             // (masters, span): writes fail for lack of memory
	Busy           Kind = "busy"            // (masters, span): a script runs during the whole span
	Clock          Kind = "clock"           // (masters, offset, span): the clock jumps by the offset, and back after the span
	Strobe         Kind = "strobe"          // (masters, offset, period, span): once a period the clock jumps by the offset, or back
	Drift          Kind = "drift"           // (masters, percent, span): the clock runs fast or slow; then it jumps to the right time
)

// Faults of the network between clients and masters. Clients are written as in c1+c2; * means all clients. A
// direction is to-server, to-client or both. A fault with n hits every n-th request of a client to a master.
const (
	Partition   Kind = "partition"    // (clients, masters, direction, span): all bytes are lost
	Stall       Kind = "stall"        // (clients, masters, direction, span): all bytes are delivered after the span
	Delay       Kind = "delay"        // (clients, masters, delay, span): each message arrives later by the delay
	DropRequest Kind = "drop-request" // (clients, masters, n, span)
	DropReply   Kind = "drop-reply"   // (clients, masters, n, span)
	Duplicate   Kind = "duplicate"    // (clients, masters, n, span): the request arrives twice
	LateCopy    Kind = "late-copy"    // (clients, masters, delay, n, span): a copy of the request arrives later, on another connection
	Cut         Kind = "cut"          // (clients, masters, direction, bytes, n, span): the connection is reset after that many bytes; the direction must not be both
	Astray      Kind = "astray"       // (clients, masters, server, span): new connections to the masters lead to the server
)

// Faults of client processes.
const (
	StopClient Kind = "stop-client" // (clients, span): SIGSTOP
	KillClient Kind = "kill-client" // (clients, span): SIGKILL; then started again
)

// Changes of the members by operators, who do not use the proxies. Each master is changed by a separate operator.
// killed is the time after which this operator is killed (0: never). Another operator then repeats the change. After
// the span, all changes but Init are undone.
const (
	Suspend Kind = "suspend" // (masters, killed, span): suspended, and resumed after the span
	Replace Kind = "replace" // (master, spare, killed, span): the spare takes the master's place, and gives it back after the span
	Add     Kind = "add"     // (masters, killed, span): added, and removed after the span
	Remove  Kind = "remove"  // (masters, killed, span): removed, and added after the span
	Init    Kind = "init"    // (masters): a deployment is founded on them by force, if a majority of the members lost its data
)

// Force makes an operator take a lock, without the proxies. A lock is written as n and its index in Env.Names, as in
// n2. killed is the time after which this operator is killed (0: never). Another operator then takes the lock.
const Force Kind = "force" // (lock, killed): takes it from the holders that an inspection shows

// Changes of the user User on the masters. They affect only clients that log in as User, and cut these clients'
// connections.
const (
	Password Kind = "password" // (masters, old|both|new): the accepted passwords, until the next change
	Refuse   Kind = "refuse"   // (masters, span): no password is accepted
)

// Data is what a killed master keeps of its data.
type Data string

const (
	Kept Data = "kept"
	Lost Data = "lost"
)

// Passwords are the passwords that masters accept from User.
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
	Spare     Masters // the spare of Replace, the leader of ReplicaOf, or the server of Astray
	Data      Data
	Passwords Passwords
	Direction Direction
	Bytes     int
	Lock      int           // the index of a name in Env.Names
	Every     int           // the n of "every n-th request"
	Offset    time.Duration // of a clock
	Period    time.Duration // of a strobe
	Percent   float64       // of a drift
	Delay     time.Duration // of the network; lag of a replica; age of a backup; time until an operator is killed; time without the AOF
	Span      time.Duration
}

// InModel reports whether a deployment of this number of masters must keep all its promises when this is the only
// fault. The masters are expected to have every write on disk before they answer. A fault is out of the model if more
// than a minority loses acknowledged writes, or if a client is stopped while its lease runs.
//
// A fault is also out of the model if a single clock is wrong, or if a single master runs on a backup. A rival of the
// holder may get all masters outside of the holder's quorum, and then needs only one master of this quorum. If that
// master ends the lease early, or its backup lacks the lock, two clients hold the lock. Schedule.InModel also judges
// minorities that lose data one after the other.
func (f Fault) InModel(masters int) bool {
	return !f.Kind.is(outside) && !f.misleads() && (!f.forgets() || f.Masters.Count() <= Minority(masters))
}

// Minority returns the largest number that is less than half of the given number of masters.
func Minority(masters int) int { return (masters - 1) / 2 }

// forgets reports whether the fault makes its masters lose acknowledged writes.
func (f Fault) forgets() bool { return f.Kind.is(forgets) || f.Kind == Kill && f.Data == Lost }

// restarts reports whether the fault only kills its masters and starts them again.
func (f Fault) restarts() bool {
	return f.Kind == Kill || f.Kind == RollingRestart
}

// unsure returns the masters that the fault makes unreliable, and for how long after the beginning of the fault. Such
// masters lose data, or are not voting members. The set weak has the masters that, at some earlier time, did not have
// all writes on disk. After a restart, the data of these masters is not reliable.
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

// weakens returns the masters that are weak after the fault: at some time, not all of their writes were on disk. A
// master that lost its data becomes a new member, which is not weak.
func (f Fault) weakens(weak Masters) Masters {
	switch {
	case f.Kind == AOFOff:
		return weak | f.Masters
	case f.forgets():
		return weak &^ f.Masters
	}
	return weak
}

// misleads reports whether the fault makes its masters' clocks wrong by more than clients allow for.
func (f Fault) misleads() bool {
	return f.Kind == Clock || f.Kind == Strobe || f.Kind == Drift && !f.allowedFor()
}

// allowedDrift is by how many percent a clock may run too fast, with the clients' default setting.
const allowedDrift = 1.0

// allowedFor reports whether the fault is a drift that clients allow for. Clients allow for a slow clock too, but the
// fault of a slow clock ends with a jump forward, which ends leases early. The fault of a fast clock ends with a jump
// back, which only makes leases longer.
func (f Fault) allowedFor() bool {
	return f.Kind == Drift && 0 <= f.Percent && f.Percent <= allowedDrift
}

// Lasts returns the duration of the fault, without the time that processes need to start and stop.
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

// Hurts returns the masters that the fault may keep from serving the client well, and for how long after the end of the
// fault. silent is the longest time until clients give up a connection that lost a message. quarantine is the longest
// time for which a master does not vote after it was restarted, lost data, or had a wrong clock. The result may contain
// too many masters, or too long a time.
func (f Fault) Hurts(client string, silent, quarantine time.Duration) (some Masters, after time.Duration) {
	switch {
	case f.Unsettles() != 0:
		return everyMaster, quarantine // votes at two versions of the table do not add up to a quorum
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

// Unsettles returns the masters whose membership is unknown from the beginning of the fault until the members are read.
// An operator that is killed or gives up may leave a change unfinished, and a refused change leaves the members as they
// are. With Astray, a client may reach an empty server under a member's address. The client then gives the member's
// place to this server.
func (f Fault) Unsettles() Masters {
	switch {
	case f.Kind == Init:
		return everyMaster
	case f.Kind.is(changes) || f.Kind == Astray:
		return f.Masters | f.Spare
	}
	return 0
}
