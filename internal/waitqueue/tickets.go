package waitqueue

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Ticket is what the masters order waiters by: us since 1970 by their time. The zero value is not
// known yet.
type Ticket struct{ text *string }

// TicketOf returns the one that is sent as text.
func TicketOf(text string) Ticket { return Ticket{&text} }

// Known reports whether t is known.
func (t Ticket) Known() bool { return t.text != nil }

// String returns what is sent for t.
func (t Ticket) String() string { return *t.Text() }

// askTime asks the masters for their time, and for a place by that.
var askTime = "0"

// Text returns what is sent for t.
func (t Ticket) Text() *string {
	if t.text == nil {
		return &askTime
	}
	return t.text
}

const (
	// A client asks for the masters' time again after firstRelearn, and each time after twice as
	// long, up to relearn: the first answers often come when all clients ask at once, and tell the
	// time only to within what they took. It is no less than the masters of one attempt take to
	// answer, as a rule.
	firstRelearn = 500 * time.Millisecond
	relearn      = time.Minute

	// slew is by how much two clocks are taken to run apart in that time.
	slew = 100e-6
)

// Tickets gives tickets, of what the masters' clocks show as far as a client knows: the middle one
// of what a quorum of them said, carried on by the client's own monotonic clock. So all masters
// order those who wait alike, and neither a client's wall clock nor a single master's decides.
type Tickets struct {
	mu    sync.Mutex
	need  int
	ahead []reading // by master
}

// NewTickets returns those of so many masters, of which need are a quorum.
func NewTickets(masters, need int) *Tickets {
	return &Tickets{need: need, ahead: make([]reading, masters)}
}

// SetQuorum tells that need masters are a quorum.
func (t *Tickets) SetQuorum(need int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.need = need
}

// Reply is what a master told of its time, in us, to a request that was sent and answered at these
// moments.
type Reply struct {
	Time      int64
	Sent, Got clock.Instant
}

// reading is what a client knows of one master's clock. The zero reading is none.
type reading struct {
	least, most int64 // us: by so much it is ahead of our clock's reading
	got         clock.Instant
	every       time.Duration // after which it is asked for again
}

// refined returns the reading with one more answer. The truth lies in what both allow; an answer
// that has nothing in common with those before is of a clock that was set, or another server's.
func (r reading) refined(a Reply) reading {
	us := func(t clock.Instant) int64 { return time.Duration(t).Microseconds() }
	now := reading{least: a.Time - us(a.Got), most: a.Time - us(a.Sent), got: a.Got, every: firstRelearn}
	apart := 1 + int64(slew*float64(us(a.Got)-us(r.got))) // 1 for the fractions of us
	least, most := max(now.least, r.least-apart), min(now.most, r.most+apart)
	if r.every > 0 && least <= most {
		now.least, now.most, now.every = least, most, min(2*r.every, relearn)
	}
	return now
}

// Learn takes a master's answer to a request for its time.
func (t *Tickets) Learn(master int, a Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead[master] = t.ahead[master].refined(a)
}

// Next returns one for a caller that begins to wait now; it is not known when the masters have to
// be asked for their time.
func (t *Tickets) Next(now clock.Instant) Ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ahead []int64
	fresh := 0
	for _, r := range t.ahead {
		if r.every == 0 {
			continue
		}
		if now.Before(r.got.Add(r.every)) {
			fresh++
		}
		// One that has to be asked for again is good to break the tie of two.
		ahead = append(ahead, r.least+(r.most-r.least)/2)
	}
	if fresh < t.need {
		return Ticket{}
	}
	slices.Sort(ahead)
	return TicketOf(strconv.FormatInt(time.Duration(now).Microseconds()+ahead[len(ahead)/2], 10))
}
