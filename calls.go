package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// The calls of a hold; scripts/batch.lua tells what stands where.

func (h *hold) acquireCall(t quorum.Terms, in place) script.Call {
	keys := []*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue, &h.keys.Asked}
	if h.reading.Load() {
		channel, ticket := h.placeText(in)
		return script.Share.Call(keys, &h.owner, t.KeyTTL().Milliseconds(), channel, ticket)
	}
	if !in.waits() {
		return script.Acquire.Call(keys[:4], &h.owner, t.KeyTTL().Milliseconds())
	}
	return script.Enqueue.Call(keys, &h.owner, t.KeyTTL().Milliseconds(), in.channel, in.ticket.Text())
}

// jointCall is for an acquisition that is one of a group: of the first of them, group is
// how many they are, and of the others 0.
func (h *hold) jointCall(t quorum.Terms, group int) script.Call {
	keys := []*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}
	return script.Joint.Call(keys, &h.owner, t.KeyTTL().Milliseconds(), group)
}

func (h *hold) reenterCall(depth int, t quorum.Terms) script.Call {
	if h.reading.Load() {
		return h.stayCall(t)
	}
	return script.Reenter.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}, &h.owner, depth, t.KeyTTL().Milliseconds())
}

func (h *hold) confirmCall(grant int64) script.Call {
	if h.reading.Load() {
		return script.Know.Call([]*string{&h.keys.Fence}, uint64(h.last))
	}
	return script.Confirm.Call([]*string{&h.keys.Lock, &h.keys.Fence}, &h.owner, grant, uint64(h.token))
}

func (h *hold) extendCall(t quorum.Terms) script.Call {
	if h.reading.Load() {
		return h.stayCall(t)
	}
	return script.Extend.Call([]*string{&h.keys.Lock}, &h.owner, t.KeyTTL().Milliseconds())
}

// stayCall is what extends a reader's lease, and what makes a reader of a writer.
func (h *hold) stayCall(t quorum.Terms) script.Call {
	return script.Stay.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner, t.KeyTTL().Milliseconds())
}

func (h *hold) repairCall(t quorum.Terms) script.Call {
	if h.reading.Load() {
		return script.Restore.Call([]*string{&h.keys.Lock, &h.keys.Gone, &h.keys.Queue}, &h.owner, t.KeyTTL().Milliseconds())
	}
	return script.Repair.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone}, &h.owner, h.depth, uint64(h.token), t.KeyTTL().Milliseconds())
}

func (h *hold) exitCall(depth int) script.Call {
	return script.Exit.Call([]*string{&h.keys.Lock}, &h.owner, depth)
}

func (h *hold) releaseCall() script.Call {
	if h.reading.Load() {
		return h.undoCall(0, nowhere) // Release is for a lock that is written, as a rule
	}
	return script.Release.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner)
}

func (h *hold) passCall(channel *string) script.Call {
	return script.Pass.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner, channel)
}

func (h *hold) lingerCall(ttl, mark time.Duration) script.Call {
	return script.Linger.Call([]*string{&h.keys.Lock, &h.keys.Gone, &h.keys.Queue}, &h.owner, ttl.Milliseconds(), mark.Milliseconds())
}

// noText is sent for what there is none of.
var noText = ""

// placeText returns what is sent for a place. A reader's ticket has half a us more, which is how
// masters know it.
func (h *hold) placeText(in place) (channel, ticket *string) {
	if !in.waits() {
		return &noText, &noText
	}
	ticket = in.ticket.Text()
	if h.reading.Load() && in.ticket.Known() {
		half := *ticket + ".5"
		ticket = &half
	}
	return in.channel, ticket
}

func (h *hold) undoCall(mark time.Duration, in place) script.Call {
	channel, ticket := h.placeText(in)
	return script.Undo.Call([]*string{&h.keys.Lock, &h.keys.Gone, &h.keys.Queue, &h.keys.Asked}, &h.owner, mark.Milliseconds(), channel, ticket)
}

// noAsker is the asker of what nobody waits for.
type noAsker struct{}

func (noAsker) Begin(int) bool { return true }

func (noAsker) Answer(int, script.Vote) {}
