package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// never is later than everything.
const never = time.Duration(math.MaxInt64)

// ask is one call for a lock.
type ask struct {
	client string
	name   string
	waits  bool
	reads  bool    // it is for reading
	set    int     // above 0: it is one of so many names that are asked for together; that it is not had may be for another
	of     callKey // of one of a set: the call of its first name
	depth  int     // above 1: it is a re-entry
	under  *hold   // the hold that it is to re-enter, if the history tells

	// What was asked for.
	watched bool
	ttl     time.Duration

	from  time.Duration
	to    time.Duration // never: it has not ended
	held  bool
	token uint64
	err   string
	hold  *hold // what it entered
}

// hold is a fresh acquisition with all that was done by it.
type hold struct {
	client  string
	name    string
	owner   string        // the id of the acquisition
	set     callKey       // of one of several names that are held together: the call of the first
	forces  []*force      // by which it was taken from its holder, or may have been
	token   uint64        // 0: of one that reads
	reads   bool          // it was had for reading
	last    uint64        // of one that reads: its LastToken
	down    time.Duration // from then on it reads, by a downgrade
	downs   []span        // the downgrades
	watched bool          // it is renewed until the last unlock
	ttl     time.Duration // by so much
	asked   time.Duration // the acquisition began
	held    time.Duration // and succeeded
	until   time.Duration // the last end of the lease that its holder knew of
	longest time.Duration // of the ttls that were asked for it: 0 if none is told
	tooLong time.Duration // the first end of the lease that is later than any of them allows: 0 if none is
	saidAt  time.Duration // when that was told
	lost    time.Duration // somebody was told that it is over
	left    time.Duration // the last unlock began
	freed   time.Duration // and ended
	err     string        // with that
	died    time.Duration // its process did
	entries []*entry
}

// entry is one handle on a hold, which has a context of its own.
type entry struct {
	depth int
	token uint64
	told  time.Duration // its context ended before it was left
	ended string        // with that
	left  time.Duration // its unlock began
	freed time.Duration // and ended
	err   string        // with that
	after int           // entries after that
}

// heard is when the last of those who work under the hold was told that it is over, or left: until
// then there was work under it.
func (h *hold) heard() time.Duration {
	last := time.Duration(0)
	for _, e := range h.entries {
		last = max(last, min(e.told, e.left))
	}
	return min(last, h.died)
}

// valid is until when the hold is valid by all that its holder can know.
func (h *hold) valid() time.Duration { return min(h.until, h.heard()) }

// with tells of the hold what its holder has of it, as violations do.
func (h *hold) with() string {
	switch {
	case h.reads:
		return "for reading"
	case h.down != never:
		return fmt.Sprintf("with token %d (for reading from %s on)", h.token, seconds(h.down))
	}
	return fmt.Sprintf("with token %d", h.token)
}

// access is one write to a store, or read.
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

// record is a history, sorted by what the rules ask for.
type record struct {
	horizon   time.Duration // the last event: of later nothing is known
	phases    []phase
	names     []string
	asks      []*ask
	holds     map[string][]*hold // by name, in the order of held
	accesses  map[register][]*access
	registers []register
	stops     map[string][]span          // of clients: stopped
	deaths    map[string][]time.Duration // of clients: killed
	forces    map[string][]*force        // by name, in the order in which they began
	faults    []trouble
	members   []membership
	reach     map[string]fault.Masters // by client: the masters that it names, if that is known
}

// trouble is a fault and when it was.
type trouble struct {
	fault.Fault
	span
	none bool // it failed, and did nothing
}

// membership is that these were all the members at a moment, and voted.
type membership struct {
	at time.Duration
	fault.Masters
}

// span is a time from and to.
type span struct{ from, to time.Duration }

func (s span) meets(from, to time.Duration) bool { return s.from <= to && from <= s.to }

// phase is a phase of the run.
type phase struct {
	name string
	span
}

// meets reports whether a phase of that name was at any time between.
func (r *record) meets(name string, from, to time.Duration) bool {
	for _, p := range r.phases {
		if p.name == name && p.meets(from, to) {
			return true
		}
	}
	return false
}

// inModel reports whether the fault model held at that moment: within that phase, and again when
// everything had time to recover from the other.
func (r *record) inModel(at, recovery time.Duration) bool {
	for _, p := range r.phases {
		if p.from <= at && at < p.to {
			return p.name == history.InModel || p.name == history.Healed && at >= p.from+recovery
		}
	}
	return len(r.phases) == 0
}

// claim returns when the claim of the hold ends: when those who work under it are told. Who is told
// within a bound after the end of the lease is told in time; who is stopped then, after going on.
func (r *record) claim(h *hold, b Bounds) time.Duration {
	heard, by := min(h.heard(), r.horizon), h.until
	for _, s := range r.stops[h.client] {
		if s.meets(h.until, heard) {
			by = max(by, min(s.to, heard))
		}
	}
	if heard-by <= b.Late {
		return min(h.until, heard)
	}
	return heard - b.Late
}

// holdOf returns the latest hold of the client with that token; nil if there is none.
func (r *record) holdOf(client, name string, token uint64) *hold {
	for _, h := range slices.Backward(r.holds[name]) {
		if h.client == client && h.token == token {
			return h
		}
	}
	return nil
}

// stopped reports whether the client was, at any time between.
func (r *record) stopped(client string, from, to time.Duration) bool {
	for _, s := range r.stops[client] {
		if s.meets(from, to) {
			return true
		}
	}
	return false
}
