package fault

import "time"

// Hurts returns the masters that may not serve the client as they should because of the fault, and
// for how long after its end. Connections on which something was lost stay silent for so long
// (silent) before the client gives them up; a master that was restarted, forgot, or had a wrong
// clock may not vote before the quarantine is over and a client has come by. It names rather too
// many masters, and too long a time.
func (f Fault) Hurts(client string, silent, quarantine time.Duration) (some Masters, after time.Duration) {
	switch {
	case f.Kind.changes() || f.Kind == Init || f.Kind == Astray:
		return everyMaster, quarantine // votes of two versions of the members are not added up
	case f.Clients != "" && !f.Clients.has(client):
		return 0, 0
	case f.Kind == StopClient || f.Kind == KillClient:
		return everyMaster, silent
	}
	switch f.Kind {
	case Kill, Truncate, Restore, RollingRestart, DiskFull, Promote, FlushAll, Evict, Spoil, Cache, AOFOff, OldFile, ReplicaOf, Clock, Strobe, Drift:
		return f.Masters, quarantine
	default:
		return f.Masters, silent
	}
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
	case f.Kind.changes() || f.Kind == Astray:
		return f.Masters | f.Spare
	}
	return 0
}
