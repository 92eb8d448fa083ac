package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// never is later than all events.
const never = time.Duration(math.MaxInt64)

// ask is one call for a lock.
type ask struct {
	client string
	name   string
	waits  bool
	reads  bool    // for reading
	set    int     // the number of names in its set, or 0; in a set, a failure may be due to another name
	of     callKey // in a set: the call of the first name
	depth  int     // above 1: a re-entry
	under  *hold   // the hold to re-enter, if known

	// The options.
	watched bool
	ttl     time.Duration

	from  time.Duration
	to    time.Duration // never: it has not ended
	held  bool
	token uint64
	err   string
	hold  *hold // the hold that it entered
}

// hold is a fresh acquisition and its events.
type hold struct {
	client  string
	name    string
	owner   string        // the id of the acquisition
	set     callKey       // in a set: the call of the first name
	forces  []*force      // calls by which operators took the lock from the holder, or may have taken it
	token   uint64        // 0 for a reader
	reads   bool          // acquired for reading
	last    uint64        // a reader's LastToken
	down    time.Duration // when its first downgrade began
	downs   []span        // its downgrades
	watched bool          // renewed until the last unlock
	ttl     time.Duration // of the renewals
	asked   time.Duration // when the acquisition began
	held    time.Duration // when it succeeded
	until   time.Duration // the latest end of the lease that its holder computed
	longest time.Duration // the longest ttl that was asked for, or 0
	tooLong time.Duration // the first end of the lease that is later than longest allows, or 0
	longAt  time.Duration // when tooLong was recorded
	lost    time.Duration // when the context of an entry ended because the hold was over
	left    time.Duration // when the last unlock began
	freed   time.Duration // when the last unlock ended
	err     string        // the error of the last unlock
	died    time.Duration // when its process died
	entries []*entry
}

// entry is one handle on a hold. Each entry has a context of its own.
type entry struct {
	depth int
	token uint64
	over  time.Duration // when its context ended, if before the unlock
	ended string        // the cause
	left  time.Duration // when its unlock began
	freed time.Duration // when its unlock ended
	err   string        // the error of its unlock
	after int           // the number of entries that remained after its unlock
}

// workEnd returns when all work under the hold ended. Work under an entry ends when the unlock of the entry begins,
// when the context of the entry ends, or when the process dies.
func (h *hold) workEnd() time.Duration {
	last := time.Duration(0)
	for _, e := range h.entries {
		last = max(last, min(e.over, e.left))
	}
	return min(last, h.died)
}

// valid returns the earlier of two times: the end of the hold's lease, and the end of all work under the hold.
func (h *hold) valid() time.Duration { return min(h.until, h.workEnd()) }

// with describes the hold in texts of violations: by its token, or as a reader's hold.
func (h *hold) with() string {
	switch {
	case h.reads:
		return "for reading"
	case h.down != never:
		return fmt.Sprintf("with token %d (for reading from %s on)", h.token, seconds(h.down))
	}
	return fmt.Sprintf("with token %d", h.token)
}

// access is one write to a store, or one read.
type access struct {
	client string
	store  string
	name   string
	write  bool
	token  uint64
	value  int64
	from   time.Duration
	to     time.Duration // never: it has not ended
	err    string
}

// register is one resource of one store.
type register struct{ store, name string }

// record is a history, sorted for the rules.
type record struct {
	horizon   time.Duration // the time of the last event
	phases    []phase
	names     []string
	asks      []*ask
	holds     map[string][]*hold // by name, in the order of held
	accesses  map[register][]*access
	registers []register
	stops     map[string][]span          // by client: when it was stopped
	deaths    map[string][]time.Duration // by client: when it was killed
	forces    map[string][]*force        // by name, in the order in which they began
	faults    []trouble
	members   []membership
	reach     map[string]fault.Masters // by client: the masters in its list, if known
}

// trouble is a fault with its time.
type trouble struct {
	fault.Fault
	span
	none bool // the fault failed, and did nothing
}

// membership is the set of the members at a time when all of them voted.
type membership struct {
	at time.Duration
	fault.Masters
}

// span is the time between from and to.
type span struct{ from, to time.Duration }

func (s span) meets(from, to time.Duration) bool { return s.from <= to && from <= s.to }

// phase is a phase of the run.
type phase struct {
	name string
	span
}

// meets reports whether a phase with the given name overlaps the time between from and to.
func (r *record) meets(name string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.phases, func(p phase) bool { return p.name == name && p.meets(from, to) })
}

// inModel reports whether the fault model held at the given time. It holds in the phase history.InModel. In the phase
// history.Healed, it holds once the given time for the recovery is over. In a history without phases, it always holds.
func (r *record) inModel(at, recovery time.Duration) bool {
	for _, p := range r.phases {
		if p.from <= at && at < p.to {
			return p.name == history.InModel || p.name == history.Healed && at >= p.from+recovery
		}
	}
	return len(r.phases) == 0
}

// claim returns when the claim of the hold ends: when all work under the hold has ended. A delay of up to b.Late after
// the end of the lease does not count. If the client was stopped at the end of the lease, the delay begins when the
// client continues.
func (r *record) claim(h *hold, b Bounds) time.Duration {
	end, by := min(h.workEnd(), r.horizon), h.until
	for _, s := range r.stops[h.client] {
		if s.meets(h.until, end) {
			by = max(by, min(s.to, end))
		}
	}
	if end-by <= b.Late {
		return min(h.until, end)
	}
	return end - b.Late
}

// holdOf returns the client's latest hold with that name and token, or nil.
func (r *record) holdOf(client, name string, token uint64) *hold {
	for _, h := range slices.Backward(r.holds[name]) {
		if h.client == client && h.token == token {
			return h
		}
	}
	return nil
}

// stopped reports whether the client was stopped at any time between from and to.
func (r *record) stopped(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.stops[client], func(s span) bool { return s.meets(from, to) })
}
