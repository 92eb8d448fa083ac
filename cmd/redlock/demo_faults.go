package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// fault is something that is done to the masters, or to a holder, at a time after the start.
type fault struct {
	at     time.Duration
	do     faultKind
	master int
}

type faultKind int

const (
	killMaster faultKind = iota
	restartMaster
	freezeMaster
	thawMaster
	pauseHolder
)

// roundTime is about how long a round of faults takes.
const roundTime = 3 * time.Second

// plan draws the faults of a performance: in each round two masters go, as many as five can spare,
// one of them always by a kill, a holder is paused, and the masters come back.
func plan(rng *rand.Rand, whole time.Duration) []fault {
	rounds := max(1, int(whole/roundTime))
	length := whole / time.Duration(rounds)
	var faults []fault
	for r := range rounds {
		begin := time.Duration(r) * length
		// at is a moment of the round, between two shares of it.
		at := func(from, to float64) time.Duration {
			return begin + time.Duration((from+(to-from)*rng.Float64())*float64(length))
		}
		two := rng.Perm(demoMasters)[:2]
		faults = append(faults,
			fault{at(0.05, 0.10), killMaster, two[0]},
			fault{at(0.72, 0.80), restartMaster, two[0]},
			fault{at: at(0.20, 0.28), do: pauseHolder})
		down, up := killMaster, restartMaster
		if r == 0 || rng.IntN(2) == 0 { // each performance has a freeze
			down, up = freezeMaster, thawMaster
		}
		faults = append(faults,
			fault{at(0.10, 0.18), down, two[1]},
			fault{at(0.80, 0.92), up, two[1]})
	}
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return faults
}

// inflict does what was planned, until ctx ends.
func (d *demo) inflict(ctx context.Context, faults []fault) {
	start := time.Now()
	for _, f := range faults {
		if !sleep(ctx, f.at-time.Since(start)) {
			return
		}
		if err := d.commit(f); err != nil {
			d.stage.fail(fmt.Sprintf("master %d", f.master+1), err)
		}
	}
}

// commit does one fault and shows it. What is about to fail is shown before, so that nobody wonders
// why a worker stands still.
func (d *demo) commit(f fault) error {
	m := d.masters[f.master]
	switch f.do {
	case killMaster:
		d.stage.master(f.master, masterKilled)
		m.kill()
	case freezeMaster:
		d.stage.master(f.master, masterFrozen)
		return m.freeze()
	case restartMaster:
		if err := m.restart(); err != nil {
			return err
		}
		d.stage.master(f.master, masterUp)
	case thawMaster:
		if err := m.thaw(); err != nil {
			return err
		}
		d.stage.master(f.master, masterUp)
	case pauseHolder:
		d.stage.wantPause()
	}
	return nil
}

// sleep returns false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
