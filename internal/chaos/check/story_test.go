package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

const ms = time.Millisecond

// story is a history under construction. Times are in milliseconds; calls are
// numbered by the order in which they are told.
type story struct {
	events []history.Event
	calls  int64
}

func (s *story) add(at time.Duration, e history.Event) {
	e.At = at * ms
	s.events = append(s.events, e)
}

func (s *story) phase(at time.Duration, name string) {
	s.add(at, history.Event{Kind: history.PhaseBegins, Phase: name})
}

// heldLock is a hold as it is told in a story.
type heldLock struct {
	s      *story
	client string
	call   int64
	name   string
	token  uint64
}

// holds is an acquisition from asked to held, with a lease until then.
func (s *story) holds(client, name string, token uint64, asked, held, until time.Duration) heldLock {
	s.calls++
	h := heldLock{s, client, s.calls, name, token}
	h.add(asked, history.Event{Kind: history.LockBegins, Waits: true, Depth: 1})
	h.add(held, history.Event{Kind: history.LockHeld, Depth: 1, Until: until * ms})
	return h
}

func (h heldLock) add(at time.Duration, e history.Event) {
	e.Client, e.Call, e.Name = h.client, h.call, h.name
	if e.Kind != history.LockBegins && e.Kind != history.LockFailed {
		e.Token = h.token
	}
	h.s.add(at, e)
}

// reenters is one more entry.
func (h heldLock) reenters(asked, held, until time.Duration, depth int) heldLock {
	h.s.calls++
	h.call = h.s.calls
	h.add(asked, history.Event{Kind: history.LockBegins, Depth: depth})
	h.add(held, history.Event{Kind: history.LockHeld, Depth: depth, Until: until * ms})
	return h
}

func (h heldLock) renewed(at, until time.Duration) {
	h.add(at, history.Event{Kind: history.Renewed, Until: until * ms})
}

func (h heldLock) told(at time.Duration) {
	h.add(at, history.Event{Kind: history.Told, Err: history.ErrExpired})
}

func (h heldLock) leaves(from, to time.Duration, left int) {
	h.add(from, history.Event{Kind: history.UnlockBegins, Depth: left})
	h.add(to, history.Event{Kind: history.UnlockEnds, Depth: left})
}

// fails is an acquisition that failed.
func (s *story) fails(client, name string, waits bool, from, to time.Duration, err string) {
	s.calls++
	h := heldLock{s, client, s.calls, name, 0}
	h.add(from, history.Event{Kind: history.LockBegins, Waits: waits, Depth: 1})
	if to > 0 {
		h.add(to, history.Event{Kind: history.LockFailed, Err: err})
	}
}

func (s *story) writes(client, store, name string, token uint64, value int64, from, to time.Duration, err string) {
	s.calls++
	e := history.Event{Kind: history.WriteBegins, Client: client, Call: s.calls, Store: store, Name: name, Token: token, Value: value}
	s.add(from, e)
	e.Kind, e.Err = history.WriteEnds, err
	if to > 0 {
		s.add(to, e)
	}
}

func (s *story) reads(client, store, name string, token uint64, value int64, from, to time.Duration, err string) {
	s.calls++
	e := history.Event{Kind: history.ReadBegins, Client: client, Call: s.calls, Store: store, Name: name, Token: token}
	s.add(from, e)
	e.Kind, e.Value, e.Err = history.ReadEnds, value, err
	s.add(to, e)
}

func (s *story) client(at time.Duration, kind history.Kind, client string) {
	s.add(at, history.Event{Kind: kind, Client: client})
}

// sorted returns the events in the order of time.
func (s *story) sorted() []history.Event {
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return s.events
}
