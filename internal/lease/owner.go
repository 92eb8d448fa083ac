package lease

import (
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Owner is a fresh acquisition as the masters know it. Its methods return the calls for it.
type Owner struct {
	ID    string
	Keys  script.Keys
	Token fence.Token // 0 for one that was acquired for reading
	Last  fence.Token // the token, or the newest writer's that a reader knows
	Reads atomic.Bool // it reads, else it writes
	Seen  uint64      // the highest token of the bucket that the client has seen
}

// AcquireCall is for an acquisition by itself.
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

// ReenterCall is for another entry: the depth counts it.
func (o *Owner) ReenterCall(depth int, t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return o.StayCall(t)
	}
	return script.Reenter.Call(&o.Keys, &o.ID, depth, t.KeyTTL().Milliseconds())
}

// ConfirmCall has a master stand at the token that granted a lower number.
func (o *Owner) ConfirmCall(grant int64) script.Call {
	if o.Reads.Load() {
		return script.Know.Call(&o.Keys, uint64(o.Last))
	}
	return script.Confirm.Call(&o.Keys, &o.ID, grant, uint64(o.Token))
}

// ExtendCall is for a longer lease.
func (o *Owner) ExtendCall(t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return o.StayCall(t)
	}
	return script.Extend.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
}

// StayCall is what extends a reader's lease, and what makes a reader of a writer.
func (o *Owner) StayCall(t quorum.Terms) script.Call {
	return script.Stay.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
}

// RepairCall writes the lock back where it was lost.
func (o *Owner) RepairCall(depth int, t quorum.Terms) script.Call {
	if o.Reads.Load() {
		return script.Restore.Call(&o.Keys, &o.ID, t.KeyTTL().Milliseconds())
	}
	return script.Repair.Call(&o.Keys, &o.ID, depth, uint64(o.Token), t.KeyTTL().Milliseconds())
}

// ExitCall says that so many entries are left.
func (o *Owner) ExitCall(depth int) script.Call {
	return script.Exit.Call(&o.Keys, &o.ID, depth)
}

// ReleaseCall frees the lock.
func (o *Owner) ReleaseCall() script.Call {
	if o.Reads.Load() {
		return o.UndoCall(0, Place{}) // Release is for a lock that is written, as a rule
	}
	return script.Release.Call(&o.Keys, &o.ID)
}

// PassCall frees the lock for the client that is called on the channel.
func (o *Owner) PassCall(channel *string) script.Call {
	return script.Pass.Call(&o.Keys, &o.ID, channel)
}

// LingerCall ends the hold, and keeps the name taken for the ttl. With a mark, a later acquire is
// refused for so long.
func (o *Owner) LingerCall(ttl, mark time.Duration) script.Call {
	return script.Linger.Call(&o.Keys, &o.ID, ttl.Milliseconds(), mark.Milliseconds())
}

// noText is sent for what there is none of.
var noText = ""

// placeText returns what is sent for a place. A reader's ticket has half a us more, which is how
// masters know it.
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

// UndoCall frees what may have been granted. With a mark, a later acquire is refused for so long.
func (o *Owner) UndoCall(mark time.Duration, in Place) script.Call {
	channel, ticket := o.placeText(in)
	return script.Undo.Call(&o.Keys, &o.ID, mark.Milliseconds(), channel, ticket)
}
