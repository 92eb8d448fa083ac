package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

const ms = time.Millisecond

// story builds a history. Times are in milliseconds; calls are numbered in order.
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

type heldLock struct {
	s      *story
	client string
	call   int64
	name   string
	token  uint64
}

// holds adds an acquisition. It is requested at the time asked, and succeeds at held. Its lease ends at until.
func (s *story) holds(client, name string, token uint64, asked, held, until time.Duration) heldLock {
	s.calls++
	h := heldLock{s, client, s.calls, name, token}
	h.add(asked, history.Event{Kind: history.LockBegins, Waits: true, Depth: 1})
	h.add(held, history.Event{Kind: history.LockHeld, Depth: 1, Until: until * ms, Owners: h.owner()})
	return h
}

func (h heldLock) owner() string { return fmt.Sprint(h.client, ".", h.call) }

// forces adds a ForceUnlock of the shown holders. named is the holder's token as a quorum reports it, or 0. If token is
// 0, the call took nothing.
func (s *story) forces(name string, named, token uint64, from, to time.Duration, err string, shown ...heldLock) {
	s.calls++
	var owners []string
	for _, h := range shown {
		owners = append(owners, h.owner())
	}
	e := history.Event{Kind: history.ForceBegins, Call: s.calls, Name: name, Token: named, Owners: strings.Join(owners, " ")}
	s.add(from, e)
	e.Kind, e.Token, e.Owners, e.Err = history.ForceEnds, token, "", err
	if to > 0 {
		s.add(to, e)
	}
}

// renews adds an acquisition of a hold with a ttl of 400 ms. The hold is renewed until its last unlock.
func (s *story) renews(client, name string, token uint64, asked, held, until time.Duration) heldLock {
	h := s.holds(client, name, token, asked, held, until)
	begin := &s.events[len(s.events)-2]
	begin.Watched, begin.TTL = true, 400*ms
	return h
}

// lasts adds an acquisition of a hold with a ttl of 400 ms that is not renewed.
func (s *story) lasts(client, name string, token uint64, asked, held, until time.Duration) heldLock {
	h := s.renews(client, name, token, asked, held, until)
	s.events[len(s.events)-2].Watched = false
	return h
}

// readsIt adds an acquisition for reading, with its LastToken (last).
func (s *story) readsIt(client, name string, last uint64, asked, held, until time.Duration) heldLock {
	h := s.holds(client, name, 0, asked, held, until)
	s.events[len(s.events)-2].Reads = true
	s.events[len(s.events)-1].Last = last
	return h
}

// renewsReading adds a hold for reading with a ttl of 400 ms. The hold is renewed until its last unlock.
func (s *story) renewsReading(client, name string, last uint64, asked, held, until time.Duration) heldLock {
	h := s.readsIt(client, name, last, asked, held, until)
	begin := &s.events[len(s.events)-2]
	begin.Watched, begin.TTL = true, 400*ms
	return h
}

// rereads adds an entry for reading to the hold. The entry has the given token.
func (h heldLock) rereads(token uint64, asked, held, until time.Duration, depth int) heldLock {
	of := h.call
	h.s.calls++
	h.call, h.token = h.s.calls, token
	h.add(asked, history.Event{Kind: history.LockBegins, Reads: true, Depth: depth, Of: of})
	h.add(held, history.Event{Kind: history.LockHeld, Depth: depth, Until: until * ms})
	return h
}

// upgrades adds a call for writing under a hold for reading. The call fails with err, or gets the token if err is "".
func (h heldLock) upgrades(token uint64, asked, ends time.Duration, err string) heldLock {
	of := h.call
	h.s.calls++
	h.call, h.token = h.s.calls, token
	h.add(asked, history.Event{Kind: history.LockBegins, Waits: true, Depth: 2, Of: of})
	e := history.Event{Kind: history.LockHeld, Depth: 2}
	if err != "" {
		e = history.Event{Kind: history.LockFailed, Err: err}
	}
	h.add(ends, e)
	return h
}

func (h heldLock) downgrades(begins, ends time.Duration, err string) {
	h.add(begins, history.Event{Kind: history.DowngradeBegins})
	if ends > 0 {
		h.add(ends, history.Event{Kind: history.DowngradeEnds, Err: err})
	}
}

func (h heldLock) add(at time.Duration, e history.Event) {
	e.Client, e.Call, e.Name = h.client, h.call, h.name
	if e.Kind != history.LockBegins && e.Kind != history.LockFailed {
		e.Token = h.token
	}
	h.s.add(at, e)
}

func (h heldLock) reenters(asked, held, until time.Duration, depth int) heldLock {
	h.s.calls++
	h.call = h.s.calls
	h.add(asked, history.Event{Kind: history.LockBegins, Depth: depth})
	h.add(held, history.Event{Kind: history.LockHeld, Depth: depth, Until: until * ms})
	return h
}

// failsToReenter adds a re-entry that fails.
func (h heldLock) failsToReenter(asked, failed time.Duration, err string) {
	of := h.call
	h.s.calls++
	h.call = h.s.calls
	h.add(asked, history.Event{Kind: history.LockBegins, Depth: 2, Of: of})
	h.add(failed, history.Event{Kind: history.LockFailed, Err: err})
}

func (h heldLock) renewed(at, until time.Duration) {
	h.add(at, history.Event{Kind: history.Renewed, Until: until * ms})
}

func (h heldLock) contextEnds(at time.Duration) {
	h.add(at, history.Event{Kind: history.ContextEnded, Err: history.ErrExpired})
}

func (h heldLock) leaves(from, to time.Duration, left int) { h.leavesWith(from, to, left, "") }

func (h heldLock) leavesWith(from, to time.Duration, left int, err string) {
	h.add(from, history.Event{Kind: history.UnlockBegins, Depth: left})
	h.add(to, history.Event{Kind: history.UnlockEnds, Depth: left, Err: err})
}

// fault adds a fault that could be applied. If to is 0, the fault does not end.
func (s *story) fault(from, to time.Duration, text string) {
	s.add(from, history.Event{Kind: history.FaultBegins, Fault: text})
	if to > 0 {
		s.add(to, history.Event{Kind: history.FaultEnds, Fault: text})
	}
}

func (s *story) members(at time.Duration, masters string) {
	s.add(at, history.Event{Kind: history.Members, Masters: masters})
}

func (s *story) fails(client, name string, waits bool, from, to time.Duration, err string, ttl ...time.Duration) {
	s.calls++
	h := heldLock{s, client, s.calls, name, 0}
	asked := history.Event{Kind: history.LockBegins, Waits: waits, Depth: 1}
	if len(ttl) > 0 {
		asked.TTL = ttl[0]
	}
	h.add(from, asked)
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

// sortedEvents returns the events in the order of time.
func (s *story) sortedEvents() []history.Event {
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return s.events
}

// failsToHurt adds a fault that could not be applied as planned.
func (s *story) failsToHurt(from, to time.Duration, text, err string) {
	s.add(from, history.Event{Kind: history.FaultBegins, Fault: text})
	s.add(to, history.Event{Kind: history.FaultEnds, Fault: text, Err: err})
}

// longTTL makes the last hold a renewed hold with a ttl of 2 s.
func (s *story) longTTL() {
	begin := &s.events[len(s.events)-2]
	begin.Watched, begin.TTL = true, 2000*ms
}

// together makes a set of all holds that were requested at the given time.
func (s *story) together(asked time.Duration, first heldLock) {
	for i := range s.events {
		if e := &s.events[i]; e.At == asked*ms && e.Kind == history.LockBegins {
			e.Set, e.Of = 2, first.call
		}
	}
}

// goesOn adds a renewed hold whose context ends. Soon after that, the hold is unlocked.
func (s *story) goesOn(client string, token uint64, asked, held, until, contextEnds time.Duration) heldLock {
	h := s.renews(client, "b", token, asked, held, until)
	h.contextEnds(contextEnds)
	h.leaves(contextEnds+5, contextEnds+10, 0)
	return h
}

// renewedOn adds a hold that is renewed until it is unlocked at the given time, and further events.
func (s *story) renewedOn(left time.Duration, events func(heldLock)) {
	h := s.renews("c0", "b", 22, 5000, 5010, 5400)
	for at := time.Duration(5300); at < left; at += 300 {
		h.renewed(at, at+400)
	}
	events(h)
	h.leaves(left, left+10, 0)
}

// failsTogether adds a call for a set of names that fails with the same error for all names.
func (s *story) failsTogether(client string, names []string, waits bool, from, to time.Duration, err string) {
	first := s.calls + 1
	for _, name := range names {
		s.fails(client, name, waits, from, to, err)
		begin := &s.events[len(s.events)-2]
		begin.Set, begin.Of = len(names), first
	}
}

// lostBeside returns a function that adds the given faults, and the loss of a renewed hold at 5.41 s.
func lostBeside(faults func(s *story)) func(s *story) {
	return func(s *story) {
		faults(s)
		h := s.renews("c0", "b", 22, 5000, 5010, 5410)
		h.contextEnds(5410)
		h.leaves(5420, 5430, 0)
	}
}

// lostBesideARival is like lostBeside with one fault. During the fault, client c1 asks for a name and is refused.
func lostBesideARival(fault, name string) func(s *story) {
	return func(s *story) {
		s.fails("c1", name, false, 4970, 4975, history.ErrHeld)
		lostBeside(func(s *story) { s.fault(4915, 5800, fault) })(s)
	}
}
