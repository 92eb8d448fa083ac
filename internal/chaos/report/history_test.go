package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// story makes up a history as a chaos run leaves it: clients that wait for locks, hold them, write,
// are stopped past their lease and killed; masters that go down, freeze and have their clocks
// moved.
type story struct {
	rng    *rand.Rand
	events []history.Event
	calls  int64
	token  uint64
	free   map[string]time.Duration // when a lock is, by name
	length time.Duration
}

// newStory returns a little more than n events.
func newStory(n int) []history.Event {
	s := &story{rng: rand.New(rand.NewPCG(1, uint64(n))), free: map[string]time.Duration{}, token: 1000}
	clocks := make([]time.Duration, 8) // when each client goes on
	for i := range clocks {
		s.add(0, history.Event{Kind: history.ClientStarts, Client: fmt.Sprintf("c%d", i)})
	}
	for len(s.events) < n {
		now := slices.Min(clocks)
		i := slices.Index(clocks, now)
		clocks[i] = s.hold(fmt.Sprintf("c%d", i), now)
		s.length = max(s.length, now)
	}
	for i := range 5 {
		s.master(fmt.Sprintf("m%d", i))
	}
	phases := []string{history.InModel, history.OutOfModel, history.Healed}
	for i, at := range []time.Duration{0, s.length * 6 / 10, s.length * 9 / 10} {
		s.add(at, history.Event{Kind: history.PhaseBegins, Phase: phases[i]})
	}
	return s.events
}

func (s *story) add(at time.Duration, e history.Event) {
	e.At = at
	s.events = append(s.events, e)
}

func (s *story) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d) + 1)) }

// master has a fault every ten seconds or so.
func (s *story) master(name string) {
	for at := s.upTo(8 * time.Second); at < s.length*9/10; at += 4*time.Second + s.upTo(12*time.Second) {
		till := at + time.Second + s.upTo(2*time.Second)
		fault, begins, ends := "kill "+name, history.Event{Kind: history.MasterDown, Master: name}, history.Event{Kind: history.MasterUp, Master: name}
		switch s.rng.IntN(5) {
		case 0:
			fault, begins.Lost = "kill "+name+" lost=true", true
		case 1:
			fault, begins.Kind, ends.Kind = "pause "+name, history.MasterFrozen, history.MasterThawed
		case 2:
			fault = "clock " + name + " by=3s"
			begins.Kind, ends.Kind, begins.Offset = history.MasterClock, history.MasterClock, 3*time.Second
		case 3:
			s.add(at, history.Event{Kind: history.MasterWiped, Master: name})
		}
		s.add(at, history.Event{Kind: history.FaultBegins, Fault: fault})
		s.add(at, begins)
		s.add(till, ends)
		s.add(till, history.Event{Kind: history.FaultEnds, Fault: fault})
	}
}

// hold is one turn of a client, after which it returns when it goes on.
func (s *story) hold(client string, at time.Duration) time.Duration {
	const lease = 800 * time.Millisecond
	name := []string{"orders", "stock", "mail"}[s.rng.IntN(3)]
	s.calls++
	hold := s.calls
	s.add(at, history.Event{Kind: history.LockBegins, Client: client, Call: hold, Name: name, Waits: true, Depth: 1})
	held := max(at, s.free[name]) + s.upTo(30*time.Millisecond)
	if held > at+3*time.Second {
		s.add(at+3*time.Second, history.Event{Kind: history.LockFailed, Client: client, Call: hold, Name: name, Err: history.ErrCanceled})
		return at + 3*time.Second + s.upTo(time.Second)
	}
	s.token++
	token, until := s.token, held+lease
	s.add(held, history.Event{Kind: history.LockHeld, Client: client, Call: hold, Name: name, Token: token, Depth: 1, Until: until})
	leaves := held + 20*time.Millisecond + s.upTo(400*time.Millisecond)
	s.free[name] = leaves
	if s.rng.IntN(25) == 0 { // stopped past its lease
		s.add(held+10*time.Millisecond, history.Event{Kind: history.ClientStopped, Client: client})
		s.free[name] = until + s.upTo(200*time.Millisecond)
		leaves = until + 500*time.Millisecond + s.upTo(time.Second)
		s.add(leaves-10*time.Millisecond, history.Event{Kind: history.ClientGoesOn, Client: client})
	}
	late := leaves > until
	for _, store := range []string{history.RedisGuarded, history.Unguarded} {
		s.calls++
		write := history.Event{Kind: history.WriteBegins, Client: client, Call: s.calls, Store: store, Name: name, Token: token, Value: s.calls}
		s.add(leaves-2*time.Millisecond, write)
		write.Kind = history.WriteEnds
		if late && store == history.RedisGuarded {
			write.Err = history.ErrRefused
		}
		s.add(leaves-time.Millisecond, write)
	}
	if late {
		s.add(leaves, history.Event{Kind: history.Told, Client: client, Call: hold, Name: name, Token: token, Err: history.ErrExpired})
	}
	s.add(leaves, history.Event{Kind: history.UnlockBegins, Client: client, Call: hold, Name: name, Token: token})
	s.add(leaves+time.Millisecond, history.Event{Kind: history.UnlockEnds, Client: client, Call: hold, Name: name, Token: token})
	if !late && s.rng.IntN(6) == 0 { // it goes on with another lock meanwhile
		return held + time.Millisecond
	}
	return leaves + s.upTo(300*time.Millisecond)
}
