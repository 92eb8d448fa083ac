package waitqueue

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Ticket is a waiter's position in the masters' order: µs since 1970 by the masters' time. The zero
// value is a ticket that is not known yet.
type Ticket struct{ text *string }

// TicketOf returns the ticket with this text.
func TicketOf(text string) Ticket { return Ticket{&text} }

// Known reports whether t is known.
func (t Ticket) Known() bool { return t.text != nil }

// Before reports whether t is known, and other is later or not known. If a waiter's ticket was made while the
// masters' clocks were ahead, it may be later than a new ticket.
func (t Ticket) Before(other Ticket) bool {
	return t.Known() && (!other.Known() || cmp.Or(cmp.Compare(len(*t.text), len(*other.text)), cmp.Compare(*t.text, *other.text)) < 0)
}

// String returns the text that is sent for t.
func (t Ticket) String() string { return *t.Text() }

// askTime is sent for a ticket that is not known: each master replies with its time, and uses it as the ticket.
var askTime = "0"

// Text returns the text that is sent for t. All copies of t share this string.
func (t Ticket) Text() *string {
	if t.text == nil {
		return &askTime
	}
	return t.text
}

const (
	// A client asks for the masters' time again after firstRelearn. Each further interval is twice
	// as long, up to relearn. The first answers are often inexact: all clients may ask at once, and
	// an answer is less exact after a longer round trip. As a rule, all masters answer an attempt
	// within firstRelearn.
	firstRelearn = 500 * time.Millisecond
	relearn      = time.Minute

	// slew is the assumed rate at which two clocks drift apart.
	slew = 100e-6
)

// Tickets makes tickets from the masters' clocks. A ticket is the median of the times that a quorum
// of masters replied, carried on by the client's monotonic clock. So all masters order waiters
// alike, and neither a client's wall clock nor a single master's clock decides.
type Tickets struct {
	mu    sync.Mutex
	need  int
	ahead []reading // by master
}

// NewTickets returns the Tickets of this number of masters; need is the size of a quorum.
func NewTickets(masters, need int) *Tickets {
	return &Tickets{need: need, ahead: make([]reading, masters)}
}

// SetQuorum sets the size of a quorum.
func (t *Tickets) SetQuorum(need int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.need = need
}

// Reply is a master's answer with its time, in µs, and when the request was sent and answered.
type Reply struct {
	Time      int64
	Sent, Got clock.Instant
}

// reading bounds how far one master's clock is ahead of the client's. The zero reading means that nothing is known.
type reading struct {
	least, most int64 // µs by which the master's clock is ahead of the client's
	got         clock.Instant
	every       time.Duration // the interval after which the time is asked for again
}

// refined returns the reading with one more answer: the intersection of both ranges. If the ranges
// do not overlap, the clock was set, or the server was replaced, and only the answer counts.
func (r reading) refined(a Reply) reading {
	us := func(t clock.Instant) int64 { return time.Duration(t).Microseconds() }
	now := reading{least: a.Time - us(a.Got), most: a.Time - us(a.Sent), got: a.Got, every: firstRelearn}
	apart := 1 + int64(slew*float64(us(a.Got)-us(r.got))) // 1 for the fractions of µs
	least, most := max(now.least, r.least-apart), min(now.most, r.most+apart)
	if r.every > 0 && least <= most {
		now.least, now.most, now.every = least, most, min(2*r.every, relearn)
	}
	return now
}

// Learn adds a master's answer that contains its time.
func (t *Tickets) Learn(master int, a Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead[master] = t.ahead[master].refined(a)
}

// Next returns a ticket for a caller that begins to wait now. The ticket is not known yet if the
// masters must first be asked for their time.
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
		// An old reading counts too: it breaks a tie between two fresh ones.
		ahead = append(ahead, r.least+(r.most-r.least)/2)
	}
	if fresh < t.need {
		return Ticket{}
	}
	slices.Sort(ahead)
	return TicketOf(strconv.FormatInt(time.Duration(now).Microseconds()+ahead[len(ahead)/2], 10))
}
