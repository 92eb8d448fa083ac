// Package workload says what is measured, and measures it.
package workload

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
)

// Layout is where the contenders for one name are.
type Layout string

// The layouts.
const (
	OneClient  Layout = "one"   // in one process, with one client
	ClientEach Layout = "each"  // in one process, with a client each
	Processes  Layout = "procs" // in 8 processes with a client each
)

const processes = 8

// Workload is one way to use locks.
type Workload struct {
	Name    string
	Redis   server.RedisConfig
	Workers int // callers at a time; of distinct names unless Contended

	Contended bool // all take one name, and wait for it
	Layout    Layout
	Hold      time.Duration // how long each holds it

	Held int // names that a client in a process of its own holds throughout; each worker waits for one

	redisOnly bool // says nothing about what has no Redis masters
	quorum    bool // says nothing about what has one master
}

const usualMasters = 5

// The names of the workloads on which the others rest.
const (
	Series   = "series"
	Distinct = "distinct-64"
	Many     = "distinct-512"
)

// Waiting is the name of the workload in which many wait, and nothing is released.
const Waiting = "waiting-10000"

const held = 10_000

// LinkedName is the name of the contended workload in which each master is half a millisecond away.
const LinkedName = "contended-8-procs-hold-1ms-link-1ms"

// All workloads in the order of the table.
func All() []Workload {
	healthy := server.RedisConfig{Masters: usualMasters}
	all := []Workload{
		{Name: Series, Redis: healthy, Workers: 1},
		{Name: Distinct, Redis: healthy, Workers: 64},
		{Name: Many, Redis: healthy, Workers: 512},
	}
	for _, workers := range []int{8, 64} {
		for _, layout := range []Layout{OneClient, ClientEach, Processes} {
			for _, hold := range []time.Duration{0, time.Millisecond} {
				all = append(all, Workload{
					Name: ContendedName(workers, layout, hold), Redis: healthy, Workers: workers,
					Contended: true, Layout: layout, Hold: hold,
				})
			}
		}
	}
	for _, fault := range []server.Fault{server.Dead, server.Hung, server.Slow} {
		for _, w := range all[:2] {
			all = append(all, w.with("-"+string(fault), server.RedisConfig{Masters: usualMasters, Fault: fault}, true))
		}
	}
	for _, roundTrip := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, w := range all[:3] {
			all = append(all, w.with(fmt.Sprintf("-link-%v", roundTrip), server.RedisConfig{Masters: usualMasters, RoundTrip: roundTrip}, false))
		}
	}
	all = append(all, Workload{
		Name: LinkedName, Redis: server.RedisConfig{Masters: usualMasters, RoundTrip: time.Millisecond}, Workers: 8,
		Contended: true, Layout: Processes, Hold: time.Millisecond, redisOnly: true,
	})
	for _, n := range []int{1, 3, 7, 9} {
		all = append(all, all[1].with(fmt.Sprintf("-n%d", n), server.RedisConfig{Masters: n}, n != 1))
	}
	for _, w := range all[:2] {
		all = append(all, w.with("-fsync", server.RedisConfig{Masters: usualMasters, AppendFsync: "always"}, false))
	}
	return append(all,
		Workload{Name: "holding-10000", Redis: healthy, Held: held},
		Workload{Name: Waiting, Redis: healthy, Held: held, Workers: held},
	)
}

// ContendedName is the name of a contended workload.
func ContendedName(workers int, layout Layout, hold time.Duration) string {
	return fmt.Sprintf("contended-%d-%s-hold-%v", workers, layout, hold)
}

// with is w on other masters.
func (w Workload) with(suffix string, redis server.RedisConfig, quorum bool) Workload {
	w.Name += suffix
	w.Redis, w.redisOnly, w.quorum = redis, true, quorum
	return w
}

// Suits reports whether the workload says anything about c.
func (w Workload) Suits(c contender.Contender) bool {
	switch {
	case w.Held > 0:
		return c.Name == contender.Redlock // the others have no watchdog, or no masters
	case w.Contended && !c.Waits:
		return false
	case !w.Contended && c.Name == contender.Fair:
		return false // it is the same as without, where nobody waits
	case w.quorum:
		return c.Needs == contender.AllMasters
	case w.redisOnly:
		return c.Needs == contender.AllMasters || c.Needs == contender.OneMaster
	}
	return true
}
