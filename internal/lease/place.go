package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Place is where an acquisition stands in the masters' queues. The zero value does not wait.
type Place struct {
	Channel *string          // on which its client is called; nil: it stands in none
	Ticket  waitqueue.Ticket // without a channel, tells which writers a reader comes before
	Takes   time.Duration    // for so long a release may grant it the lock; 0: it is to be called
}

// leaving is the ticket of one who leaves the queue, and withdrawing that of one who only takes its
// offer back.
var leaving, withdrawing = waitqueue.TicketOf("-"), waitqueue.TicketOf("~")

// Waits reports that it stands anywhere.
func (p Place) Waits() bool { return p.Channel != nil }

// Kept is the place of a waiter who has one already.
func (p Place) Kept() Place {
	if !p.Waits() || !p.Ticket.Known() {
		return Place{}
	}
	return p
}
