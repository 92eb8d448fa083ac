//go:build unix

package run

import (
	"fmt"
	"io"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/play"
)

// Config says what to run.
type Config struct {
	// Duration of all phases of all rounds; starting, building and checking come on top.
	Duration time.Duration

	// Seed of the faults and of all that the clients choose.
	Seed uint64

	// Faults is a schedule as a run prints it, for every round; empty: one is drawn for each round
	// from the seed.
	Faults string

	// Scenario is one of Scenarios, by its name, for every round; empty: none.
	Scenario string

	// Engine that runs the masters.
	Engine cluster.Engine

	// Out is the folder for the history.
	Out string

	// Root is the folder of the library's module.
	Root string

	// NeedDatabase makes it an error that PostgreSQL is not installed.
	NeedDatabase bool

	// Log gets what people who look into a run want to know.
	Log io.Writer
}

// The deployment of every run. The leases are short, so that much happens.
const (
	ttl            = 500 * time.Millisecond
	maxTTL         = time.Second
	requestTimeout = 150 * time.Millisecond
	patience       = 40 * time.Second
	clientCount    = 4
	workers        = 3
	nameCount      = 6
	reads          = 15 // of a hundred locks
	sets           = 10 // of a hundred calls for locks
)

// A master that lost its data votes again once its quarantine (maxTTL and the drift) is over and a
// client has come by; so does a new member. Until then the schedule counts on it as little as on
// one that is down.
const quarantine = maxTTL + 3*time.Second

// A round of a long run takes about roundTime: its history is kept in memory.
const roundTime = 3 * time.Minute

func (c Config) bounds() check.Bounds {
	b := check.DefaultBounds(ttl, maxTTL)
	b.Patience = patience
	return b
}

func clientNames() []string { return numbered("c", clientCount) }

// lockNames returns those of a round: the stores live longer than it, and what they keep for
// another name is no business of this one.
func lockNames(round int) []string { return numbered(fmt.Sprintf("r%dn", round), nameCount) }

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

// plan divides the time into rounds, and a round into phases. Healing takes as long as the bound on
// recovery and a little, and the side outside of the fault model a quarter of the rest.
func (c Config) plan() (rounds int, p play.Phases) {
	if s, is := c.scenario(); is {
		return 1, play.Phases{InModel: s.InModel, OutOfModel: s.OutOfModel, Healed: c.bounds().Recovery + 2*time.Second}
	}
	rounds = max(1, int((c.Duration+roundTime/2)/roundTime))
	p.Healed = c.bounds().Recovery + 2*time.Second
	left := max(c.Duration/time.Duration(rounds)-p.Healed, shortestRound)
	p.OutOfModel = left / 4
	p.InModel = left - p.OutOfModel
	return rounds, p
}

// shortestRound is the least time for faults: with less, nothing is provoked.
const shortestRound = 20 * time.Second
