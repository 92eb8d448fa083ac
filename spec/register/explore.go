package register

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
)

// model is a state machine and a promise about its states. S is a plain value without pointers, so
// that states can be compared and hashed.
type model[S comparable] interface {
	start() S
	steps(s *S, to func(next *S, by move)) // calls to for everything that may happen in s
	broken(s *S) string                    // the promise that s breaks; "" if it breaks none
	tell(s *S, by move) string             // what happened, when by led to s
}

// move is one step: its kind, and what took part in it. The numbers are the model's.
type move struct{ kind, a, b, c uint8 }

// result is what an exploration found.
type result struct {
	complete    bool     // every state was visited, and none breaks a promise
	broken      string   // the promise that is broken
	story       []string // how, if it is broken
	states      int
	transitions int
	depth       int
	seconds     float64
}

func (r result) String() string {
	var b strings.Builder
	if r.broken != "" {
		fmt.Fprintf(&b, "%s\n", r.broken)
	}
	for i, line := range r.story {
		fmt.Fprintf(&b, "    %2d %s\n", i+1, line)
	}
	return b.String()
}

// visited are the hashes of the states that were seen, each with the hash of the state it was
// reached from. Two states with the same hash of 63 bits count as one: with n states, one is missed
// with a probability of about n*n/2^64, less than 1 in 10^5 for 10^7.
type visited struct {
	hash, from []uint64 // from is nil if nobody will ask for a story
	n          int
}

func newVisited(stories bool) *visited {
	v := &visited{hash: make([]uint64, 1<<12)}
	if stories {
		v.from = make([]uint64, 1<<12)
	}
	return v
}

// add notes a state, and reports whether it is new.
func (v *visited) add(hash, from uint64) bool {
	if 4*v.n > 3*len(v.hash) {
		v.grow()
	}
	i := v.place(hash)
	if v.hash[i] != 0 {
		return false
	}
	v.hash[i] = hash
	if v.from != nil {
		v.from[i] = from
	}
	v.n++
	return true
}

// place is where a hash is, or would be.
func (v *visited) place(hash uint64) uint64 {
	mask := uint64(len(v.hash) - 1)
	i := hash & mask
	for v.hash[i] != 0 && v.hash[i] != hash {
		i = (i + 1) & mask
	}
	return i
}

func (v *visited) grow() {
	old := *v
	v.hash = make([]uint64, 2*len(old.hash))
	if old.from != nil {
		v.from = make([]uint64, 2*len(old.hash))
	}
	for i, h := range old.hash {
		if h == 0 {
			continue
		}
		j := v.place(h)
		v.hash[j] = h
		if old.from != nil {
			v.from[j] = old.from[i]
		}
	}
}

// exploration visits the states of one model.
type exploration[S comparable] struct {
	model   model[S]
	seed    maphash.Seed
	visited *visited
	until   time.Time
	script  []string // if it is not nil, what may happen, in this order
	result  result
}

func newExploration[S comparable](m model[S], limit time.Duration, stories bool) *exploration[S] {
	return &exploration[S]{model: m, seed: maphash.MakeSeed(), visited: newVisited(stories), until: time.Now().Add(limit)}
}

// hash is never 0, which is an empty place.
func (e *exploration[S]) hash(s *S) uint64 { return maphash.Comparable(e.seed, *s) | 1 }

// breadthFirst explores all states, or up to the first that breaks a promise: its story is a
// shortest one.
func breadthFirst[S comparable](m model[S], limit time.Duration) result {
	return newExploration(m, limit, true).byLevels()
}

// follow takes only the steps of a story.
func follow[S comparable](m model[S], limit time.Duration, story []string) result {
	e := newExploration(m, limit, true)
	e.script = story
	r := e.byLevels()
	r.complete = false
	return r
}

func (e *exploration[S]) byLevels() result {
	begin := time.Now()
	start := e.model.start()
	e.visited.add(e.hash(&start), 0)
	level := []S{start}
	for ; len(level) > 0 && e.result.broken == ""; e.result.depth++ {
		if time.Now().After(e.until) {
			break
		}
		level = e.next(level)
	}
	e.result.complete = len(level) == 0 && e.result.broken == ""
	e.result.states = e.visited.n
	e.result.seconds = time.Since(begin).Seconds()
	return e.result
}

// next returns the states that are reached first from those of a level.
func (e *exploration[S]) next(level []S) []S {
	var reached []S
	for i := range level {
		from := e.hash(&level[i])
		e.model.steps(&level[i], func(next *S, by move) {
			e.result.transitions++
			if e.result.broken != "" || !e.inScript(next, by) || !e.visited.add(e.hash(next), from) {
				return
			}
			reached = append(reached, *next)
			if broken := e.model.broken(next); broken != "" {
				e.result.broken = broken
				e.result.story = e.story(e.hash(next))
			}
		})
		if e.result.broken != "" {
			break
		}
	}
	return reached
}

func (e *exploration[S]) inScript(next *S, by move) bool {
	return e.script == nil || e.result.depth < len(e.script) && e.script[e.result.depth] == e.model.tell(next, by)
}

// story tells the steps from the start to a state: it takes them again, along the hashes.
func (e *exploration[S]) story(hash uint64) []string {
	var way []uint64
	for ; hash != 0; hash = e.visited.from[e.visited.place(hash)] {
		way = append(way, hash)
	}
	slices.Reverse(way)
	var lines []string
	state := e.model.start()
	for _, hash := range way[1:] {
		var found bool
		var reached S
		e.model.steps(&state, func(next *S, by move) {
			if !found && e.hash(next) == hash {
				found, reached = true, *next
				lines = append(lines, e.model.tell(next, by))
			}
		})
		state = reached
	}
	return lines
}

// depthFirst explores all states with less memory, and tells no story.
func depthFirst[S comparable](m model[S], limit time.Duration) result {
	e := newExploration(m, limit, false)
	begin := time.Now()
	start := m.start()
	e.visited.add(e.hash(&start), 0)
	stack := []S{start}
	for len(stack) > 0 && e.result.broken == "" {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		m.steps(&s, func(next *S, by move) {
			e.result.transitions++
			if e.result.broken != "" || !e.visited.add(e.hash(next), 0) {
				return
			}
			stack = append(stack, *next)
			e.result.broken = m.broken(next)
		})
		e.result.depth = max(e.result.depth, len(stack))
		if e.visited.n%1024 == 0 && time.Now().After(e.until) {
			break
		}
	}
	e.result.complete = len(stack) == 0 && e.result.broken == ""
	e.result.states = e.visited.n
	e.result.seconds = time.Since(begin).Seconds()
	return e.result
}
