package redlock

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// A client asks for the masters' time again after firstRelearn, and each time
	// after twice as long, up to relearn: the first answers often come when all
	// clients ask at once, and tell the time only to within what they took. It is no
	// less than the masters of one attempt may take to answer.
	firstRelearn = DefaultRequestTimeout
	relearn      = time.Minute

	// slew is by how much two clocks are taken to run apart in that time.
	slew = 100e-6
)

// masterTime is what the masters' clocks show, as far as a client knows: the
// middle one of what a quorum of them said, carried on by the client's own
// monotonic clock. Tickets are taken from it, so that all masters order those who
// wait alike, and neither a client's wall clock nor a single master's decides.
type masterTime struct {
	need int

	mu    sync.Mutex
	ahead [maxMasters]reading
}

// reading is what a client knows of one master's clock. The zero reading is none.
type reading struct {
	least, most int64 // us: by so much it is ahead of our clock's reading
	got         clock.Instant
	every       time.Duration // after which it is asked for again
}

// refined returns the reading with one more answer. The truth lies in what both
// allow; an answer that has nothing in common with those before is of a clock that
// was set, or another server's.
func (r reading) refined(v script.Vote) reading {
	us := func(t clock.Instant) int64 { return time.Duration(t).Microseconds() }
	now := reading{least: v.Ticket - us(v.Got), most: v.Ticket - us(v.Sent), got: v.Got, every: firstRelearn}
	apart := 1 + int64(slew*float64(us(v.Got)-us(r.got))) // 1 for the fractions of us
	least, most := max(now.least, r.least-apart), min(now.most, r.most+apart)
	if r.every > 0 && least <= most {
		now.least, now.most, now.every = least, most, min(2*r.every, relearn)
	}
	return now
}

// learn takes a master's answer to a request for a ticket.
func (t *masterTime) learn(master int, v script.Vote) {
	if v.Ticket == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead[master] = t.ahead[master].refined(v)
}

// ticket returns one for a caller that begins to wait now, or what asks the
// masters for their time.
func (t *masterTime) ticket(now clock.Instant) *string {
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
		return &noTicket
	}
	slices.Sort(ahead)
	s := strconv.FormatInt(time.Duration(now).Microseconds()+ahead[len(ahead)/2], 10)
	return &s
}
