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
	steps(s *S, to func(next *S, by move)) // calls to() for each step that may be taken in s
	broken(s *S) string                    // the promise that s breaks; "" if it breaks none
	event(s *S, by move) string            // describes the step that led to s
}

// move is one step: its kind, and what took part in it (a, b, c). Each model gives these numbers its own meaning.
type move struct{ kind, a, b, c uint8 }

// result is what an exploration found.
type result struct {
	complete    bool     // every state was visited, and none breaks a promise
	broken      string   // the promise that is broken; "" if none is
	story       []string // the steps to a state that breaks the promise
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

// exploration visits the states of one model.
type exploration[S comparable] struct {
	model model[S]
	seed  maphash.Seed
	until time.Time

	// from maps the hash of each state that was seen to the hash of the state from which it was
	// reached. Two states with the same hash of 64 bits count as one. The probability that one of n
	// states is missed is about n*n/2^65: less than 1 in 10^5 for 10^7 states.
	from   map[uint64]uint64
	script []string // if not nil, the only steps that may be taken, in this order
	result result
}

func newExploration[S comparable](m model[S], limit time.Duration) *exploration[S] {
	return &exploration[S]{model: m, seed: maphash.MakeSeed(), until: time.Now().Add(limit), from: map[uint64]uint64{}}
}

func (e *exploration[S]) hash(s *S) uint64 { return maphash.Comparable(e.seed, *s) }

// breadthFirst explores all states, for at most the time limit. It stops at the first state that breaks a
// promise, and returns the steps to this state. No other way to break a promise has fewer steps.
func breadthFirst[S comparable](m model[S], limit time.Duration) result {
	return newExploration(m, limit).byLevels()
}

// follow takes only the steps of a story, one after the other.
func follow[S comparable](m model[S], limit time.Duration, story []string) result {
	e := newExploration(m, limit)
	e.script = story
	r := e.byLevels()
	r.complete = false
	return r
}

func (e *exploration[S]) byLevels() result {
	begin := time.Now()
	start := e.model.start()
	e.from[e.hash(&start)] = 0
	level := []S{start}
	for ; len(level) > 0 && e.result.broken == ""; e.result.depth++ {
		if time.Now().After(e.until) {
			break
		}
		level = e.next(level)
	}
	e.result.complete = len(level) == 0 && e.result.broken == ""
	e.result.states = len(e.from)
	e.result.seconds = time.Since(begin).Seconds()
	return e.result
}

// next returns the states that are one step from a state in level, and that were not seen before.
func (e *exploration[S]) next(level []S) []S {
	var reached []S
	for i := range level {
		from := e.hash(&level[i])
		e.model.steps(&level[i], func(next *S, by move) {
			e.result.transitions++
			hash := e.hash(next)
			if _, seen := e.from[hash]; seen || e.result.broken != "" || !e.inScript(next, by) {
				return
			}
			e.from[hash] = from
			reached = append(reached, *next)
			if broken := e.model.broken(next); broken != "" {
				e.result.broken = broken
				e.result.story = e.story(hash)
			}
		})
		if e.result.broken != "" {
			break
		}
	}
	return reached
}

func (e *exploration[S]) inScript(next *S, by move) bool {
	return e.script == nil || e.result.depth < len(e.script) && e.script[e.result.depth] == e.model.event(next, by)
}

// story returns the texts of the steps from the start to a state. It takes all these steps again, and
// recognises each by the hash of the state after it.
func (e *exploration[S]) story(hash uint64) []string {
	var way []uint64
	for ; hash != 0; hash = e.from[hash] {
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
				lines = append(lines, e.model.event(next, by))
			}
		})
		state = reached
	}
	return lines
}

// when returns text if so is true, and "" otherwise.
func when(so bool, text string) string {
	if so {
		return text
	}
	return ""
}
