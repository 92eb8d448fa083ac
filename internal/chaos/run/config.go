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

// Config describes a run.
type Config struct {
	// Duration is the total time of the phases of all rounds. Starts, builds and checks come on top.
	Duration time.Duration

	// Seed determines the faults and all random choices of clients.
	Seed uint64

	// Faults is the schedule of every round, in the form that a run prints. If it is empty, each round draws its own
	// schedule from the seed.
	Faults string

	// Scenario is the name of one of Scenarios, or empty. A run with a scenario has one round.
	Scenario string

	// Engine runs the masters.
	Engine cluster.Engine

	// Out is the folder for the history.
	Out string

	// Root is the folder of the library's module.
	Root string

	// NeedDatabase makes a missing PostgreSQL an error.
	NeedDatabase bool

	// Log receives lines for people who investigate a run.
	Log io.Writer
}

// The deployment of every run. Leases are short, so that many leases end.
const (
	ttl            = 500 * time.Millisecond
	maxTTL         = time.Second
	requestTimeout = 150 * time.Millisecond
	patience       = 40 * time.Second
	clientCount    = 4
	workers        = 3
	nameCount      = 6
	reads          = 15 // of a hundred locks, how many are for reading
	sets           = 10 // of a hundred calls for locks, how many are for several names
)

// quarantine is the longest time until a new member votes, or a master that lost its data votes again: maxTTL, the
// drift, and the time until a client reaches the master. Until then the schedule treats the master as down.
const quarantine = maxTTL + 3*time.Second

// A round takes about roundTime at most, because its history is kept in memory.
const roundTime = 3 * time.Minute

func (c Config) bounds() check.Bounds {
	b := check.DefaultBounds(ttl, maxTTL)
	b.Patience = patience
	return b
}

func clientNames() []string { return numbered("c", clientCount) }

// lockNames returns the names of a round. No two rounds share a name, because the stores keep the values of earlier
// rounds.
func lockNames(round int) []string { return numbered(fmt.Sprintf("r%dn", round), nameCount) }

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

// plan divides the time into rounds, and a round into phases. The phase without faults takes a little longer than the
// bound on recovery. In a quarter of the remaining time, faults are out of the fault model.
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

// shortestRound is the least time for the faults of a round: a shorter time provokes nothing.
const shortestRound = 20 * time.Second
