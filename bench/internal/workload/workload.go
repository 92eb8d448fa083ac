// Package workload defines the workloads, and measures them.
package workload

import (
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
)

// Workload is one way to use locks.
type Workload struct {
	Name      string
	Masters   int           // the number of Redis masters
	RoundTrip time.Duration // time of a round trip to the masters; 0: no delay on loopback
	Workers   int           // concurrent callers, each with a name of its own unless Contended
	Processes int           // how many processes share the workers, with one client each; 0: one
	Contended bool          // all callers lock one name, and wait for it
	Hold      time.Duration // how long each caller holds the name
}

// All workloads in the order of the report.
var All = []Workload{
	{Name: "series", Masters: 5, Workers: 1},
	{Name: "distinct-64", Masters: 5, Workers: 64},
	{Name: "distinct-512", Masters: 5, Workers: 512},
	{Name: "distinct-64-n1", Masters: 1, Workers: 64},
	{Name: "contended-8", Masters: 5, Workers: 8, Contended: true, Hold: time.Millisecond},
	{Name: "contended-8-procs", Masters: 5, Workers: 8, Processes: 8, Contended: true, Hold: time.Millisecond},
	{Name: "contended-8-procs-link-1ms", Masters: 5, RoundTrip: time.Millisecond, Workers: 8, Processes: 8, Contended: true, Hold: time.Millisecond},
}

// Suits reports whether the workload is meaningful for c.
func (w Workload) Suits(c contender.Contender) bool {
	if w.Contended && !c.Waits {
		return false
	}
	onRedis := c.Needs == contender.AllMasters || c.Needs == contender.OneMaster
	return onRedis || w.Masters == 5 && w.RoundTrip == 0
}
