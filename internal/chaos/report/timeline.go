package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// timeline is what the page draws. All times are microseconds since the start of the run, which
// JavaScript's numbers hold exactly.
type timeline struct {
	End    int64   `json:"end"`
	Phases []phase `json:"phases"`
	Lanes  []lane  `json:"lanes"`
}

// phase is a part of the run that is drawn behind all lanes.
type phase struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Name string `json:"name"`
}

// lane is one line of the picture, as high as it has rows.
type lane struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Rows  int    `json:"rows"`
	Spans []span `json:"spans"`
	Marks []mark `json:"marks,omitempty"`
}

// Groups of lanes, from top to bottom.
const (
	faultLanes  = "faults"
	masterLanes = "masters"
	clientLanes = "clients"
)

// span is something that lasted. Which fields are set depends on Kind.
type span struct {
	From int64    `json:"from"`
	To   int64    `json:"to"`
	Kind spanKind `json:"kind"`
	Row  int      `json:"row,omitempty"`

	Text   string `json:"text,omitempty"`   // of a fault
	Lost   bool   `json:"lost,omitempty"`   // a master came down and knows nothing any more
	Offset int64  `json:"offset,omitempty"` // of a master's clock
	Open   bool   `json:"open,omitempty"`   // it had not ended when the run did

	Name  string `json:"name,omitempty"` // of the lock
	Token uint64 `json:"token,omitempty,string"`
	Depth int    `json:"depth,omitempty"`
	Until int64  `json:"until,omitempty"`
	Waits bool   `json:"waits,omitempty"`
	Reads bool   `json:"reads,omitempty"`
	Err   string `json:"err,omitempty"`
	Rival string `json:"rival,omitempty"` // who holds what this client believes to hold
	Newer uint64 `json:"newer,omitempty,string"`
}

type spanKind string

const (
	faultSpan spanKind = "fault"

	// Of masters. Where there is none of these it is up.
	downSpan   spanKind = "down"
	frozenSpan spanKind = "frozen"
	clockSpan  spanKind = "clock"

	// Of clients: a lock is waited for, held, believed in after its lease, believed in wrongly, and
	// given back.
	waitingSpan spanKind = "waiting"
	holdingSpan spanKind = "holding"
	lateSpan    spanKind = "late"
	wrongSpan   spanKind = "wrong"
	leavingSpan spanKind = "leaving"

	// Of the process of a client, over all rows.
	stoppedSpan spanKind = "stopped"
	deadSpan    spanKind = "dead"
)

// mark is something that is shown at a moment, though it may have taken a while.
type mark struct {
	At   int64    `json:"at"`
	From int64    `json:"from,omitempty"` // when it was begun
	Kind markKind `json:"kind"`
	Row  int      `json:"row,omitempty"`

	Store string `json:"store,omitempty"`
	Name  string `json:"name,omitempty"`
	Token uint64 `json:"token,omitempty,string"`
	Value int64  `json:"value,omitempty"`
	Until int64  `json:"until,omitempty"`
	Err   string `json:"err,omitempty"`
}

type markKind string

const (
	wipedMark markKind = "wiped" // a master

	renewedMark markKind = "renewed"
	toldMark    markKind = "told"
	readMark    markKind = "read"
	wroteMark   markKind = "wrote"
	refusedMark markKind = "refused"
	unknownMark markKind = "unknown"
	// A write to the unguarded store, by a client that believed wrongly.
	unfencedMark markKind = "unfenced"
)

// newTimeline derives what is drawn from events, which need not be in order.
func newTimeline(events []history.Event) timeline {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	var end time.Duration
	if len(events) > 0 {
		end = events[len(events)-1].At
	}
	return timeline{
		End:    micros(end),
		Phases: phases(events, end),
		Lanes:  slices.Concat(faults(events, end), masters(events, end), clients(events, end)),
	}
}

func (t timeline) length() time.Duration { return time.Duration(t.End) * time.Microsecond }

func micros(d time.Duration) int64 { return d.Microseconds() }
