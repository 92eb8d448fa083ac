package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// record is what happened, as those saw it to whom it happened.
type record struct {
	seed    uint64
	masters string // their kind
	took    time.Duration

	acquisitions []acquisition
	done         int           // fenced increments that were acknowledged
	found        int           // by reading the ledger at the end
	refused      int           // writes, as stale
	landed       []fence.Token // of each fenced write, in the order in which they landed
	bareDone     int           // the same without a fence
	bareFound    int

	killed, frozen int // masters
	paused         int // holders
	longestWait    time.Duration

	failures    []string // that nothing in the plan explains
	interrupted bool
}

// acquisition is one that was completed: when it was begun and completed, since the start. (The
// time that its caller waited before does not count: the promise is about attempts.)
type acquisition struct {
	worker     int
	begun, had time.Duration
	token      fence.Token
}

// verdict is what is printed, and for --json its form.
type verdict struct {
	OK          bool    `json:"ok"`
	Interrupted bool    `json:"interrupted"`
	Checks      []check `json:"checks"`

	Masters         string `json:"masters"`
	Seed            uint64 `json:"seed"`
	TookMS          int64  `json:"took_ms"`
	IncrementsDone  int    `json:"increments_done"`
	IncrementsFound int    `json:"increments_found"`
	Tokens          int    `json:"tokens"`
	StaleRefused    int    `json:"stale_writes_refused"`
	UnfencedDone    int    `json:"unfenced_increments_done"`
	UnfencedFound   int    `json:"unfenced_increments_found"`
	UnfencedLost    int    `json:"unfenced_updates_lost"`
	MastersKilled   int    `json:"masters_killed"`
	MastersFrozen   int    `json:"masters_frozen"`
	HoldersPaused   int    `json:"holders_paused"`
	LongestWaitMS   int64  `json:"longest_wait_ms"`
}

// check is one claim, and the numbers that bear it out or not.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// judge computes the verdict.
func judge(r record) verdict {
	v := verdict{
		Interrupted: r.interrupted,
		Checks:      []check{checkIncrements(r), checkTokens(r), checkStale(r), checkFailures(r)},

		Masters:         r.masters,
		Seed:            r.seed,
		TookMS:          r.took.Milliseconds(),
		IncrementsDone:  r.done,
		IncrementsFound: r.found,
		Tokens:          len(r.acquisitions),
		StaleRefused:    r.refused,
		UnfencedDone:    r.bareDone,
		UnfencedFound:   r.bareFound,
		UnfencedLost:    r.bareDone - r.bareFound,
		MastersKilled:   r.killed,
		MastersFrozen:   r.frozen,
		HoldersPaused:   r.paused,
		LongestWaitMS:   r.longestWait.Milliseconds(),
	}
	v.OK = !v.Interrupted
	for _, c := range v.Checks {
		v.OK = v.OK && c.OK
	}
	return v
}

// checkIncrements: whatever was acknowledged is there, and nothing else.
func checkIncrements(r record) check {
	return check{
		Name:   "increments",
		OK:     r.done > 0 && r.done == r.found,
		Detail: fmt.Sprintf("%d done, %d found", r.done, r.found),
	}
}

// checkTokens: an acquisition that was begun after another was completed has a larger token, and no
// two have the same.
func checkTokens(r record) check {
	c := check{Name: "tokens", OK: len(r.acquisitions) > 0, Detail: fmt.Sprintf("%d, strictly growing", len(r.acquisitions))}
	if len(r.acquisitions) == 0 {
		c.Detail = "none"
	}
	if older, newer, found := firstDisorder(r.acquisitions); found {
		c.OK = false
		c.Detail = fmt.Sprintf("%v (worker %d, completed at %v), then %v (worker %d, begun at %v)",
			older.token, older.worker+1, older.had, newer.token, newer.worker+1, newer.begun)
	}
	return c
}

// firstDisorder returns two acquisitions of which newer should have the larger token and has not.
func firstDisorder(all []acquisition) (older, newer acquisition, found bool) {
	byBegun := slices.SortedFunc(slices.Values(all), func(a, b acquisition) int { return cmp.Compare(a.begun, b.begun) })
	byHad := slices.SortedFunc(slices.Values(all), func(a, b acquisition) int { return cmp.Compare(a.had, b.had) })
	seen := make(map[fence.Token]acquisition, len(all))
	var highest acquisition // of those completed before the one looked at
	completed := 0
	for _, a := range byBegun {
		for ; byHad[completed].had < a.begun; completed++ {
			if byHad[completed].token > highest.token {
				highest = byHad[completed]
			}
		}
		if a.token <= highest.token || !a.token.Valid() {
			return highest, a, true
		}
		if twin, twice := seen[a.token]; twice {
			return twin, a, true
		}
		seen[a.token] = a
	}
	return older, newer, false
}

// checkStale: stale writes were tried, and refused, and none landed.
func checkStale(r record) check {
	stale := 0
	highest := fence.Token(0)
	for _, t := range r.landed {
		if t < highest {
			stale++
		}
		highest = max(highest, t)
	}
	return check{
		Name:   "stale writes",
		OK:     r.refused > 0 && stale == 0,
		Detail: fmt.Sprintf("%d refused, %d landed", r.refused, stale),
	}
}

// checkFailures: nothing failed but what was made to.
func checkFailures(r record) check {
	c := check{Name: "failures", OK: len(r.failures) == 0, Detail: "none but the planned ones"}
	if !c.OK {
		c.Detail = fmt.Sprintf("%d, the first: %s", len(r.failures), r.failures[0])
	}
	return c
}
