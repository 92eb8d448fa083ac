package fault

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Plan holds the parameters of Generate.
type Plan struct {
	Masters int           // the founding members
	Spares  int           // masters that are no members at first, for changes of the members; 0: no such changes
	Clients []string      // if empty, no faults of the network or of clients
	Locks   int           // number of names whose locks operators take; 0: none
	For     time.Duration // no fault begins later
	TTL     time.Duration // of the clients; faults last about as long

	// With InModel, the masters that are hurt and the masters that lost data less than Quarantine ago are together a
	// minority at every time. Some faults may hit more masters: rolling restarts (one master after the other), clocks
	// that are fast by no more than clients allow for, flushes of scripts, and faults of the network. Without InModel,
	// clocks jump and data is lost on a majority, and clients are stopped for longer than the ttl.
	InModel    bool
	Quarantine time.Duration
}

// Generate returns a schedule. The same seed and plan always give the same schedule. In the first third of the time,
// faults come one by one. In the second third they come in pairs, and in the last third all kinds come at once. During
// a fault whose effects running clients do not see, clients may be restarted, too. No kind is repeated before all
// possible kinds have come.
func Generate(seed uint64, p Plan) Schedule {
	g := &generator{Plan: p, rand: rand.New(rand.NewPCG(seed, 0))}
	g.fill(p.For/3, 1)
	g.fill(p.For*2/3, 2)
	g.fill(p.For, len(kinds))
	slices.SortStableFunc(g.made, func(a, b Timed) int { return cmp.Compare(a.At, b.At) })
	return g.made
}

type generator struct {
	Plan
	rand *rand.Rand
	made Schedule
	now  time.Duration
	deck []Kind // the kinds that must come before any kind is repeated

	hurt [64]time.Duration // until when each master is unreliable
	weak Masters           // see weakens
	used [64]time.Duration // until when a change holds each spare
}

// fill fills the schedule with groups of faults up to the given time. The faults of a group begin together, after the
// previous group has ended.
func (g *generator) fill(until time.Duration, together int) {
	for g.now < until {
		var longest time.Duration
		for _, f := range g.group(together) {
			g.made = append(g.made, Timed{At: g.now, Fault: f})
			longest = max(longest, f.Lasts())
			if f.Kind.is(unseen) && len(g.Clients) > 0 && g.rand.IntN(2) == 0 {
				late := Fault{Kind: KillClient, Clients: g.clients(), Span: g.between(0, 2*f.Lasts())}
				g.made = append(g.made, Timed{At: g.now, Fault: late})
			}
		}
		g.now += longest + g.between(100*time.Millisecond, 500*time.Millisecond)
	}
}

// group draws at most n faults of different kinds, as many as are possible now.
func (g *generator) group(n int) []Fault {
	var group []Fault
	if len(g.deck) == 0 || n >= len(kinds) {
		g.deck = g.shuffled()
	}
	for i := 0; i < len(g.deck) && len(group) < n; {
		f, can := g.draw(g.deck[i])
		if !can {
			i++ // possible later, when more masters are well
			continue
		}
		group = append(group, f)
		g.deck = slices.Delete(g.deck, i, i+1)
	}
	return group
}

func (g *generator) shuffled() []Kind {
	deck := slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return k.is(scripted) ||
			g.Spares == 0 && k.is(changes) ||
			g.Locks == 0 && k == Force ||
			g.InModel && k.is(outside) ||
			len(g.Clients) == 0 && k.is(hitsClients)
	})
	g.rand.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}
