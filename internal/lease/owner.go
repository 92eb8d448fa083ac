package lease

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Owner is a fresh acquisition as the masters store it. Its methods return the calls to the masters.
type Owner struct {
	ID    string
	Keys  script.Keys
	Token fence.Token // 0 if it was acquired for reading
	Last  fence.Token // the token; for a reader, the highest counter of the masters that granted
	Reads atomic.Bool // false: for writing
	Seen  uint64      // the highest token of the bucket that the client has seen
}

// AcquireCall acquires the lock, or a place in its queue.
func (o *Owner) AcquireCall(t quorum.Terms, in Place) script.Call {
	if o.Reads.Load() {
		channel, ticket := o.placeText(in)
		return script.Share.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds(), channel, ticket)
	}
	if !in.Waits() {
		return script.Acquire.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds(), &o.Seen)
	}
	return script.Enqueue.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds(), in.Channel, in.Ticket.Text(), in.Takes.Milliseconds(), &o.Seen)
}

// ReenterCall re-enters the lock.
func (o *Owner) ReenterCall(t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return o.StayCall(t)
	}
	return script.Reenter.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
}

// ConfirmCall raises the counter of a master that granted a number below the token, and notes the token in a writer's
// lock.
func (o *Owner) ConfirmCall(grant int64) script.Call {
	if o.Reads.Load() {
		return script.Know.Call(&o.Keys, uint64(o.Last))
	}
	return script.Confirm.Call(&o.Keys, &o.ID, grant, uint64(o.Token))
}

// ExtendCall extends the lease.
func (o *Owner) ExtendCall(t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return o.StayCall(t)
	}
	return script.Extend.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
}

// StayCall extends a reader's lease, or turns a writer into a reader.
func (o *Owner) StayCall(t quorum.Terms) script.Call {
	return script.Stay.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
}

// RepairCall writes the lock back to a master that lost it.
func (o *Owner) RepairCall(t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return script.Restore.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
	}
	return script.Repair.Call(&o.Keys, &o.ID, uint64(o.Token), t.KeyTTL().Milliseconds())
}

// ReleaseCall frees the lock.
func (o *Owner) ReleaseCall() script.Call {
	if o.Reads.Load() {
		return o.UndoCall(0, Place{}) // the operation release is for writers only
	}
	return script.Release.Call(&o.Keys, &o.ID)
}

// PassCall frees the lock, and keeps it for the client with this channel.
func (o *Owner) PassCall(channel *string) script.Call {
	return script.Pass.Call(&o.Keys, &o.ID, channel)
}

// LingerCall ends the hold, and keeps the name taken for a ttl. Afterwards, masters refuse acquires and
// repairs of this owner for a duration (mark).
func (o *Owner) LingerCall(ttl, mark time.Duration) script.Call {
	return script.Linger.Call(&o.Keys, &o.ID, ttl.Milliseconds(), mark.Milliseconds())
}

// noText is sent for a channel or ticket that does not exist.
var noText = ""

// placeText returns the arguments for a place. A reader's ticket is half a µs higher: masters
// recognize readers by this half.
func (o *Owner) placeText(in Place) (channel, ticket *string) {
	channel, ticket = &noText, &noText
	if in.Waits() {
		channel, ticket = in.Channel, in.Ticket.Text()
	}
	if o.Reads.Load() && in.Ticket.Known() {
		half := script.ReaderTicket(in.Ticket.String())
		ticket = &half
	}
	return channel, ticket
}

// UndoCall undoes a grant, or a possible grant. Afterwards, masters refuse acquires and repairs of this
// owner for a duration (mark).
func (o *Owner) UndoCall(mark time.Duration, in Place) script.Call {
	channel, ticket := o.placeText(in)
	return o.undoCall(mark, channel, ticket)
}

func (o *Owner) undoCall(mark time.Duration, channel, ticket *string) script.Call {
	return script.Undo.Call(&o.Keys, &o.ID, mark.Milliseconds(), channel, ticket)
}
