package check

import (
	"math"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// never is later than everything.
const never = time.Duration(math.MaxInt64)

// ask is one call for a lock.
type ask struct {
	client string
	name   string
	waits  bool
	depth  int
	from   time.Duration
	to     time.Duration // never: it has not ended
	held   bool
	token  uint64
	err    string
	hold   *hold // what it entered
}

// hold is a fresh acquisition with all that was done by it.
type hold struct {
	client string
	name   string
	token  uint64
	asked  time.Duration // the acquisition began
	held   time.Duration // and succeeded
	until  time.Duration // the last end of the lease that its holder knew of
	told   time.Duration // its holder was told that it is over
	left   time.Duration // the last unlock began
	freed  time.Duration // and ended
	died   time.Duration // its process did
	leaves []leave
}

// leave is one unlock.
type leave struct {
	from, to time.Duration
	left     int // entries after it
}

// end is when the claim of the hold ends: from held to there, it is valid by all
// that its holder can know.
func (h *hold) end() time.Duration { return min(h.until, h.told, h.left, h.died) }

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
	stops     map[string][]span // of clients: stopped
	faults    []span
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

// inModel reports whether the fault model held at that moment: within that phase,
// and again when everything had time to recover from the other.
func (r *record) inModel(at, recovery time.Duration) bool {
	for _, p := range r.phases {
		if p.from <= at && at < p.to {
			return p.name == history.InModel || p.name == history.Healed && at >= p.from+recovery
		}
	}
	return len(r.phases) == 0
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
