package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// The calls of a hold; scripts/batch.lua tells what stands where.

func (h *hold) acquireCall(t terms, in place) script.Call {
	keys := []*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}
	if !in.waits() {
		return script.Acquire.Call(keys, &h.owner, t.keyTTL().Milliseconds())
	}
	return script.Enqueue.Call(keys, &h.owner, t.keyTTL().Milliseconds(), in.channel, in.ticket.Text())
}

func (h *hold) reenterCall(depth int, t terms) script.Call {
	return script.Reenter.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone, &h.keys.Queue}, &h.owner, depth, t.keyTTL().Milliseconds())
}

func (h *hold) confirmCall(grant int64) script.Call {
	return script.Confirm.Call([]*string{&h.keys.Lock, &h.keys.Fence}, &h.owner, grant, uint64(h.token))
}

func (h *hold) extendCall(t terms) script.Call {
	return script.Extend.Call([]*string{&h.keys.Lock}, &h.owner, t.keyTTL().Milliseconds())
}

func (h *hold) repairCall(t terms) script.Call {
	return script.Repair.Call([]*string{&h.keys.Lock, &h.keys.Fence, &h.keys.Gone}, &h.owner, h.depth, uint64(h.token), t.keyTTL().Milliseconds())
}

func (h *hold) exitCall(depth int) script.Call {
	return script.Exit.Call([]*string{&h.keys.Lock}, &h.owner, depth)
}

func (h *hold) releaseCall() script.Call {
	return script.Release.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner)
}

func (h *hold) passCall(channel *string) script.Call {
	return script.Pass.Call([]*string{&h.keys.Lock, &h.keys.Queue}, &h.owner, channel)
}

// noText is sent for what there is none of.
var noText = ""

func (h *hold) undoCall(mark time.Duration, in place) script.Call {
	channel, ticket := &noText, &noText
	if in.waits() {
		channel, ticket = in.channel, in.ticket.Text()
	}
	return script.Undo.Call([]*string{&h.keys.Lock, &h.keys.Gone, &h.keys.Queue}, &h.owner, mark.Milliseconds(), channel, ticket)
}
