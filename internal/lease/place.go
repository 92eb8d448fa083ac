package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Place is the place of an acquisition in the masters' queues. The zero value does not wait.
type Place struct {
	Channel *string          // on which the masters call the client; nil: no place in the queues
	Ticket  waitqueue.Ticket // the order in the queues; a reader without a channel precedes later writers
	Takes   time.Duration    // the ttl of the lease that a release may grant; 0: the client is called instead
}

// leaving is sent in place of a ticket by an undo that removes the waiter from the queue. withdrawing
// is sent by an undo that removes only the waiter's offer.
var leaving, withdrawing = script.LeavingTicket, script.WithdrawingTicket

// Waits reports whether the acquisition waits in a queue.
func (p Place) Waits() bool { return p.Channel != nil }

// Kept returns p if it has a ticket, and so a place in the queues, or else the zero Place.
func (p Place) Kept() Place {
	if !p.Waits() || !p.Ticket.Known() {
		return Place{}
	}
	return p
}
